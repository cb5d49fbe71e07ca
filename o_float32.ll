; ModuleID = '<string>'
source_filename = "<string>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <12 x float> @llvm.copysign.v12f32(<12 x float>, <12 x float>) #0

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <16 x float> @llvm.copysign.v16f32(<16 x float>, <16 x float>) #0

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <24 x float> @llvm.copysign.v24f32(<24 x float>, <24 x float>) #0

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <32 x float> @llvm.copysign.v32f32(<32 x float>, <32 x float>) #0

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #0

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @main(ptr noalias readonly captures(none) %p0, ptr noalias writeonly captures(none) %p1) local_unnamed_addr #1 {
entry:
  %v7 = alloca [3200 x i8], align 64
  br label %do9

do9:                                              ; preds = %entry, %do9
  %lsr.iv65 = phi i64 [ 0, %entry ], [ %lsr.iv.next66, %do9 ]
  %scevgep67 = getelementptr i8, ptr %v7, i64 %lsr.iv65
  store <16 x float> splat (float 0xFFF0000000000000), ptr %scevgep67, align 64
  %lsr.iv.next66 = add nuw nsw i64 %lsr.iv65, 64
  %exitcond.not = icmp eq i64 %lsr.iv.next66, 3136
  br i1 %exitcond.not, label %end11, label %do9

end11:                                            ; preds = %do9
  %v16 = getelementptr inbounds nuw i8, ptr %v7, i64 3136
  store <14 x float> splat (float 0xFFF0000000000000), ptr %v16, align 64
  %scevgep38 = getelementptr i8, ptr %p0, i64 128
  %scevgep45 = getelementptr nuw i8, ptr %v7, i64 180
  br label %for23.preheader

for23.preheader:                                  ; preds = %end11, %next19
  %lsr.iv59 = phi ptr [ %p1, %end11 ], [ %scevgep60, %next19 ]
  %lsr.iv32 = phi i64 [ -1, %end11 ], [ %lsr.iv.next33, %next19 ]
  %v2123 = phi i64 [ 0, %end11 ], [ %i.for17, %next19 ]
  br label %for29.preheader

for29.preheader:                                  ; preds = %for23.preheader, %next25
  %exitcond30.not = phi i1 [ false, %for23.preheader ], [ true, %next25 ]
  %v2722 = phi i64 [ 0, %for23.preheader ], [ 14, %next25 ]
  %0 = shl nuw nsw i64 %v2722, 1
  %1 = sub i64 1, %0
  %2 = add i64 %lsr.iv32, %0
  br label %do30

for135.preheader:                                 ; preds = %end98
  %3 = mul nuw nsw i64 %v2722, 112
  %scevgep61 = getelementptr i8, ptr %lsr.iv59, i64 %3
  br label %do136

do30:                                             ; preds = %for29.preheader, %end98
  %lsr.iv34 = phi i64 [ %2, %for29.preheader ], [ %lsr.iv.next35, %end98 ]
  %lsr.iv = phi i64 [ %1, %for29.preheader ], [ %lsr.iv.next, %end98 ]
  %v3320 = phi i64 [ 0, %for29.preheader ], [ %i.for29, %end98 ]
  %smax39 = call i64 @llvm.smax.i64(i64 %lsr.iv, i64 0)
  %4 = add i64 %smax39, %lsr.iv34
  %5 = mul nsw i64 %4, 224
  %scevgep40 = getelementptr i8, ptr %scevgep38, i64 %5
  %smax = call i64 @llvm.smax.i64(i64 %lsr.iv, i64 0)
  %6 = add i64 %smax, %lsr.iv34
  %7 = mul nsw i64 %6, 224
  %scevgep = getelementptr i8, ptr %p0, i64 %7
  %v36 = add nuw nsw i64 %v3320, %v2722
  %v37 = shl nuw i64 %v36, 1
  %v39 = sub nsw i64 1, %v37
  %v40 = tail call i64 @llvm.smax.i64(i64 %v39, i64 0)
  %v49 = sub nsw i64 3, %v40
  %v50 = tail call i64 @llvm.smax.i64(i64 %v49, i64 0)
  %v5911.not = icmp slt i64 %v37, -1
  br i1 %v5911.not, label %end57, label %do55.lr.ph

do55.lr.ph:                                       ; preds = %do30
  %8 = and i64 %v50, 4294967295
  br label %do55

do55:                                             ; preds = %do55.lr.ph, %do55
  %lsr.iv36 = phi ptr [ %scevgep, %do55.lr.ph ], [ %scevgep37, %do55 ]
  %indvars.iv = phi i64 [ 0, %do55.lr.ph ], [ %indvars.iv.next, %do55 ]
  %v51.sroa.0.012 = phi <32 x float> [ splat (float 0xFFF0000000000000), %do55.lr.ph ], [ %v86, %do55 ]
  %v73 = load <32 x float>, ptr %lsr.iv36, align 4
  %v74 = fcmp ogt <32 x float> %v51.sroa.0.012, %v73
  %v75 = select <32 x i1> %v74, <32 x float> %v51.sroa.0.012, <32 x float> %v73
  %v76 = bitcast <32 x float> %v51.sroa.0.012 to <32 x i32>
  %v77 = bitcast <32 x float> %v73 to <32 x i32>
  %v78 = or <32 x i32> %v77, %v76
  %v79 = bitcast <32 x i32> %v78 to <32 x float>
  %v82 = and <32 x i32> %v77, %v76
  %v83 = bitcast <32 x i32> %v82 to <32 x float>
  %v84 = tail call <32 x float> @llvm.copysign.v32f32(<32 x float> %v79, <32 x float> %v83)
  %v85 = fcmp ueq <32 x float> %v51.sroa.0.012, %v73
  %v86 = select <32 x i1> %v85, <32 x float> %v84, <32 x float> %v75
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %scevgep37 = getelementptr i8, ptr %lsr.iv36, i64 224
  %v59 = icmp samesign ult i64 %indvars.iv.next, %8
  br i1 %v59, label %do55, label %end57

end57:                                            ; preds = %do55, %do30
  %v51.sroa.0.0.lcssa = phi <32 x float> [ splat (float 0xFFF0000000000000), %do30 ], [ %v86, %do55 ]
  %.idx8 = mul nuw nsw i64 %v3320, 228
  %9 = getelementptr i8, ptr %v7, i64 %.idx8
  %v92 = getelementptr i8, ptr %9, i64 4
  store <32 x float> %v51.sroa.0.0.lcssa, ptr %v92, align 4
  %v51.sroa.0.0.vecblend = shufflevector <32 x float> <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float poison, float poison, float poison, float poison, float poison, float poison, float poison, float poison>, <32 x float> %v51.sroa.0.0.lcssa, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 56, i32 57, i32 58, i32 59, i32 60, i32 61, i32 62, i32 63>
  %v10016.not = icmp slt i64 %v37, -1
  br i1 %v10016.not, label %end98, label %do96.lr.ph

do96.lr.ph:                                       ; preds = %end57
  %10 = and i64 %v50, 4294967295
  br label %do96

do96:                                             ; preds = %do96.lr.ph, %do96
  %lsr.iv41 = phi ptr [ %scevgep40, %do96.lr.ph ], [ %scevgep42, %do96 ]
  %indvars.iv25 = phi i64 [ 0, %do96.lr.ph ], [ %indvars.iv.next26, %do96 ]
  %v51.sroa.0.117 = phi <32 x float> [ %v51.sroa.0.0.vecblend, %do96.lr.ph ], [ %v51.sroa.0.0.vecblend5, %do96 ]
  %v51.sroa.0.0.vec.extract = shufflevector <32 x float> %v51.sroa.0.117, <32 x float> poison, <24 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %v115 = load <24 x float>, ptr %lsr.iv41, align 4
  %v116 = fcmp ogt <24 x float> %v51.sroa.0.0.vec.extract, %v115
  %v117 = select <24 x i1> %v116, <24 x float> %v51.sroa.0.0.vec.extract, <24 x float> %v115
  %v118 = bitcast <24 x float> %v51.sroa.0.0.vec.extract to <24 x i32>
  %v119 = bitcast <24 x float> %v115 to <24 x i32>
  %v120 = or <24 x i32> %v119, %v118
  %v121 = bitcast <24 x i32> %v120 to <24 x float>
  %v124 = and <24 x i32> %v119, %v118
  %v125 = bitcast <24 x i32> %v124 to <24 x float>
  %v126 = tail call <24 x float> @llvm.copysign.v24f32(<24 x float> %v121, <24 x float> %v125)
  %v127 = fcmp ueq <24 x float> %v51.sroa.0.0.vec.extract, %v115
  %v128 = select <24 x i1> %v127, <24 x float> %v126, <24 x float> %v117
  %v51.sroa.0.0.vec.expand = shufflevector <24 x float> %v128, <24 x float> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %v51.sroa.0.0.vecblend5 = shufflevector <32 x float> %v51.sroa.0.0.vec.expand, <32 x float> %v51.sroa.0.117, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 56, i32 57, i32 58, i32 59, i32 60, i32 61, i32 62, i32 63>
  %indvars.iv.next26 = add nuw nsw i64 %indvars.iv25, 1
  %scevgep42 = getelementptr i8, ptr %lsr.iv41, i64 224
  %v100 = icmp samesign ult i64 %indvars.iv.next26, %10
  br i1 %v100, label %do96, label %end98

end98:                                            ; preds = %do96, %end57
  %v51.sroa.0.1.lcssa = phi <32 x float> [ %v51.sroa.0.0.vecblend, %end57 ], [ %v51.sroa.0.0.vecblend5, %do96 ]
  %v51.sroa.0.0.vec.extract7 = shufflevector <32 x float> %v51.sroa.0.1.lcssa, <32 x float> poison, <24 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %sunkaddr = getelementptr i8, ptr %v7, i64 %.idx8
  %sunkaddr68 = getelementptr i8, ptr %sunkaddr, i64 132
  store <24 x float> %v51.sroa.0.0.vec.extract7, ptr %sunkaddr68, align 4
  %i.for29 = add nuw nsw i64 %v3320, 1
  %lsr.iv.next = add nsw i64 %lsr.iv, -2
  %lsr.iv.next35 = add i64 %lsr.iv34, 2
  %exitcond28.not = icmp eq i64 %i.for29, 14
  br i1 %exitcond28.not, label %for135.preheader, label %do30

do136:                                            ; preds = %for135.preheader, %do136
  %lsr.iv46 = phi ptr [ %scevgep45, %for135.preheader ], [ %scevgep47, %do136 ]
  %lsr.iv43 = phi i64 [ 64, %for135.preheader ], [ %lsr.iv.next44, %do136 ]
  %scevgep48 = getelementptr i8, ptr %lsr.iv46, i64 -180
  %v154 = load <16 x float>, ptr %scevgep48, align 4
  %scevgep49 = getelementptr i8, ptr %lsr.iv46, i64 -120
  %v156 = load <16 x float>, ptr %scevgep49, align 4
  %v157 = shufflevector <16 x float> %v154, <16 x float> %v156, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %scevgep51 = getelementptr i8, ptr %lsr.iv46, i64 -176
  %v162 = load <16 x float>, ptr %scevgep51, align 4
  %scevgep50 = getelementptr i8, ptr %lsr.iv46, i64 -116
  %v164 = load <16 x float>, ptr %scevgep50, align 4
  %v165 = shufflevector <16 x float> %v162, <16 x float> %v164, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v166 = fcmp ogt <16 x float> %v157, %v165
  %v167 = select <16 x i1> %v166, <16 x float> %v157, <16 x float> %v165
  %v168 = bitcast <16 x float> %v157 to <16 x i32>
  %v169 = bitcast <16 x float> %v165 to <16 x i32>
  %v170 = or <16 x i32> %v169, %v168
  %v171 = bitcast <16 x i32> %v170 to <16 x float>
  %v174 = and <16 x i32> %v169, %v168
  %v175 = bitcast <16 x i32> %v174 to <16 x float>
  %v176 = tail call <16 x float> @llvm.copysign.v16f32(<16 x float> %v171, <16 x float> %v175)
  %v177 = fcmp ueq <16 x float> %v157, %v165
  %v178 = select <16 x i1> %v177, <16 x float> %v176, <16 x float> %v167
  %scevgep53 = getelementptr i8, ptr %lsr.iv46, i64 -172
  %v183 = load <16 x float>, ptr %scevgep53, align 4
  %scevgep52 = getelementptr i8, ptr %lsr.iv46, i64 -112
  %v185 = load <16 x float>, ptr %scevgep52, align 4
  %v186 = shufflevector <16 x float> %v183, <16 x float> %v185, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v187 = fcmp ogt <16 x float> %v178, %v186
  %v188 = select <16 x i1> %v187, <16 x float> %v178, <16 x float> %v186
  %v189 = bitcast <16 x float> %v178 to <16 x i32>
  %v190 = bitcast <16 x float> %v186 to <16 x i32>
  %v191 = or <16 x i32> %v189, %v190
  %v192 = bitcast <16 x i32> %v191 to <16 x float>
  %v195 = and <16 x i32> %v189, %v190
  %v196 = bitcast <16 x i32> %v195 to <16 x float>
  %v197 = tail call <16 x float> @llvm.copysign.v16f32(<16 x float> %v192, <16 x float> %v196)
  %v198 = fcmp ueq <16 x float> %v178, %v186
  %v199 = select <16 x i1> %v198, <16 x float> %v197, <16 x float> %v188
  %scevgep62 = getelementptr i8, ptr %scevgep61, i64 %lsr.iv43
  %scevgep63 = getelementptr i8, ptr %scevgep62, i64 -64
  store <16 x float> %v199, ptr %scevgep63, align 4
  %scevgep55 = getelementptr i8, ptr %lsr.iv46, i64 -52
  %v210 = load <12 x float>, ptr %scevgep55, align 4
  %scevgep54 = getelementptr i8, ptr %lsr.iv46, i64 -8
  %v212 = load <12 x float>, ptr %scevgep54, align 4
  %v213 = shufflevector <12 x float> %v210, <12 x float> %v212, <12 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23>
  %scevgep57 = getelementptr i8, ptr %lsr.iv46, i64 -48
  %v218 = load <12 x float>, ptr %scevgep57, align 4
  %scevgep56 = getelementptr i8, ptr %lsr.iv46, i64 -4
  %v220 = load <12 x float>, ptr %scevgep56, align 4
  %v221 = shufflevector <12 x float> %v218, <12 x float> %v220, <12 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23>
  %v222 = fcmp ogt <12 x float> %v213, %v221
  %v223 = select <12 x i1> %v222, <12 x float> %v213, <12 x float> %v221
  %v224 = bitcast <12 x float> %v213 to <12 x i32>
  %v225 = bitcast <12 x float> %v221 to <12 x i32>
  %v226 = or <12 x i32> %v225, %v224
  %v227 = bitcast <12 x i32> %v226 to <12 x float>
  %v230 = and <12 x i32> %v225, %v224
  %v231 = bitcast <12 x i32> %v230 to <12 x float>
  %v232 = tail call <12 x float> @llvm.copysign.v12f32(<12 x float> %v227, <12 x float> %v231)
  %v233 = fcmp ueq <12 x float> %v213, %v221
  %v234 = select <12 x i1> %v233, <12 x float> %v232, <12 x float> %v223
  %scevgep58 = getelementptr i8, ptr %lsr.iv46, i64 -44
  %v239 = load <12 x float>, ptr %scevgep58, align 4
  %v241 = load <12 x float>, ptr %lsr.iv46, align 4
  %v242 = shufflevector <12 x float> %v239, <12 x float> %v241, <12 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23>
  %v243 = fcmp ogt <12 x float> %v234, %v242
  %v244 = select <12 x i1> %v243, <12 x float> %v234, <12 x float> %v242
  %v245 = bitcast <12 x float> %v234 to <12 x i32>
  %v246 = bitcast <12 x float> %v242 to <12 x i32>
  %v247 = or <12 x i32> %v245, %v246
  %v248 = bitcast <12 x i32> %v247 to <12 x float>
  %v251 = and <12 x i32> %v245, %v246
  %v252 = bitcast <12 x i32> %v251 to <12 x float>
  %v253 = tail call <12 x float> @llvm.copysign.v12f32(<12 x float> %v248, <12 x float> %v252)
  %v254 = fcmp ueq <12 x float> %v234, %v242
  %v255 = select <12 x i1> %v254, <12 x float> %v253, <12 x float> %v244
  %scevgep64 = getelementptr i8, ptr %scevgep61, i64 %lsr.iv43
  store <12 x float> %v255, ptr %scevgep64, align 4
  %lsr.iv.next44 = add nuw nsw i64 %lsr.iv43, 112
  %scevgep47 = getelementptr i8, ptr %lsr.iv46, i64 228
  %exitcond29.not = icmp eq i64 %lsr.iv.next44, 1632
  br i1 %exitcond29.not, label %next25, label %do136

next25:                                           ; preds = %do136
  br i1 %exitcond30.not, label %next19, label %for29.preheader

next19:                                           ; preds = %next25
  %i.for17 = add nuw nsw i64 %v2123, 1
  %lsr.iv.next33 = add nsw i64 %lsr.iv32, 56
  %scevgep60 = getelementptr i8, ptr %lsr.iv59, i64 3136
  %exitcond31.not = icmp eq i64 %i.for17, 64
  br i1 %exitcond31.not, label %common.ret, label %for23.preheader

common.ret:                                       ; preds = %next19
  ret i32 0
}

; Function Attrs: noinline nounwind optnone
define i32 @main.entry(ptr %frame) local_unnamed_addr #2 {
  %a3 = getelementptr i64, ptr %frame, i64 3
  %v3 = load ptr, ptr %a3, align 8
  %a4 = getelementptr i64, ptr %frame, i64 4
  %v4 = load ptr, ptr %a4, align 8
  %status = call i32 @main(ptr %v3, ptr %v4)
  br label %on

on:                                               ; preds = %0
  %a0 = getelementptr i64, ptr %frame, i64 0
  %v0 = load ptr, ptr %a0, align 8
  %last = icmp eq ptr %v0, null
  br i1 %last, label %end, label %next

next:                                             ; preds = %on
  %a1 = getelementptr i64, ptr %frame, i64 1
  %v1 = load ptr, ptr %a1, align 8
  %result = musttail call i32 %v0(ptr %v1)
  ret i32 %result

end:                                              ; preds = %on
  ret i32 0
}

attributes #0 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { nofree norecurse nosync nounwind memory(argmem: readwrite) "no-builtins" }
attributes #2 = { noinline nounwind optnone "no-builtins" }
