declare <12 x float> @llvm.copysign.v12f32(<12 x float>, <12 x float>)
declare <16 x float> @llvm.copysign.v16f32(<16 x float>, <16 x float>)
declare <24 x float> @llvm.copysign.v24f32(<24 x float>, <24 x float>)
declare <32 x float> @llvm.copysign.v32f32(<32 x float>, <32 x float>)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
define i32 @main(ptr noalias %p0, ptr noalias %p1) #0 {
entry:
  %v7 = alloca [3200 x i8], align 64
  %v51 = alloca [128 x i8], align 64
  br label %begin
begin:
  %v1 = sext i32 0 to i64
  %v2 = icmp eq i64 %v1, 0
  br i1 %v2, label %on3, label %fail1
on3:
  %v4 = sext i32 0 to i64
  %v5 = icmp eq i64 %v4, 0
  br i1 %v5, label %on6, label %fail2
on6:
  br label %for8
for8:
  %v12 = phi i64 [ 0, %on6 ], [ %i.for8, %next10 ]
  %v13 = icmp slt i64 %v12, 49
  br i1 %v13, label %do9, label %end11
do9:
  %v14 = mul i64 %v12, 16
  %v15 = getelementptr float, ptr %v7, i64 %v14
  store <16 x float> splat (float 0xFFF0000000000000), ptr %v15, align 4
  br label %next10
next10:
  %i.for8 = add i64 %v12, 1
  br label %for8
end11:
  %v16 = getelementptr float, ptr %v7, i64 784
  store <14 x float> splat (float 0xFFF0000000000000), ptr %v16, align 4
  br label %for17
for17:
  %v21 = phi i64 [ 0, %end11 ], [ %i.for17, %next19 ]
  %v22 = icmp slt i64 %v21, 64
  br i1 %v22, label %do18, label %end20
do18:
  br label %for23
for23:
  %v27 = phi i64 [ 0, %do18 ], [ %i.for23, %next25 ]
  %v28 = icmp slt i64 %v27, 2
  br i1 %v28, label %do24, label %end26
do24:
  br label %for29
for29:
  %v33 = phi i64 [ 0, %do24 ], [ %i.for29, %next31 ]
  %v34 = icmp slt i64 %v33, 14
  br i1 %v34, label %do30, label %end32
do30:
  %v35 = mul i64 %v27, 14
  %v36 = add i64 %v35, %v33
  %v37 = mul i64 %v36, 2
  %v38 = sub i64 %v37, 1
  %v39 = sub i64 0, %v38
  %v40 = call i64 @llvm.smax.i64(i64 %v39, i64 0)
  %v41 = mul i64 %v27, 14
  %v42 = add i64 %v41, %v33
  %v43 = mul i64 %v42, 2
  %v44 = sub i64 %v43, 1
  %v45 = sub i64 56, %v44
  %v46 = call i64 @llvm.smin.i64(i64 %v45, i64 3)
  %v47 = sub i64 0, %v44
  %v48 = call i64 @llvm.smax.i64(i64 %v47, i64 0)
  %v49 = sub i64 %v46, %v48
  %v50 = call i64 @llvm.smax.i64(i64 %v49, i64 0)
  %v52 = getelementptr float, ptr %v51, i64 0
  store <32 x float> splat (float 0xFFF0000000000000), ptr %v52, align 4
  %v53 = trunc i64 %v50 to i32
  br label %for54
for54:
  %v58 = phi i32 [ 0, %do30 ], [ %i.for54, %next56 ]
  %v59 = icmp slt i32 %v58, %v53
  br i1 %v59, label %do55, label %end57
do55:
  %v60 = getelementptr float, ptr %v51, i64 0
  %v61 = load <32 x float>, ptr %v60, align 4
  %v62 = mul i64 %v21, 56
  %v63 = mul i64 %v27, 14
  %v64 = add i64 %v63, %v33
  %v65 = mul i64 %v64, 2
  %v66 = sext i32 %v58 to i64
  %v67 = add i64 %v40, %v66
  %v68 = add i64 %v65, %v67
  %v69 = sub i64 %v68, 1
  %v70 = add i64 %v62, %v69
  %v71 = mul i64 %v70, 56
  %v72 = getelementptr float, ptr %p0, i64 %v71
  %v73 = load <32 x float>, ptr %v72, align 4
  %v74 = fcmp ogt <32 x float> %v61, %v73
  %v75 = select <32 x i1> %v74, <32 x float> %v61, <32 x float> %v73
  %v76 = bitcast <32 x float> %v61 to <32 x i32>
  %v77 = bitcast <32 x float> %v73 to <32 x i32>
  %v78 = or <32 x i32> %v76, %v77
  %v79 = bitcast <32 x i32> %v78 to <32 x float>
  %v80 = bitcast <32 x float> %v61 to <32 x i32>
  %v81 = bitcast <32 x float> %v73 to <32 x i32>
  %v82 = and <32 x i32> %v80, %v81
  %v83 = bitcast <32 x i32> %v82 to <32 x float>
  %v84 = call <32 x float> @llvm.copysign.v32f32(<32 x float> %v79, <32 x float> %v83)
  %v85 = fcmp ueq <32 x float> %v61, %v73
  %v86 = select <32 x i1> %v85, <32 x float> %v84, <32 x float> %v75
  %v87 = getelementptr float, ptr %v51, i64 0
  store <32 x float> %v86, ptr %v87, align 4
  br label %next56
next56:
  %i.for54 = add i32 %v58, 1
  br label %for54
end57:
  %v88 = getelementptr float, ptr %v51, i64 0
  %v89 = load <32 x float>, ptr %v88, align 4
  %v90 = mul i64 %v33, 57
  %v91 = add i64 %v90, 1
  %v92 = getelementptr float, ptr %v7, i64 %v91
  store <32 x float> %v89, ptr %v92, align 4
  %v93 = getelementptr float, ptr %v51, i64 0
  store <24 x float> splat (float 0xFFF0000000000000), ptr %v93, align 4
  %v94 = trunc i64 %v50 to i32
  br label %for95
for95:
  %v99 = phi i32 [ 0, %end57 ], [ %i.for95, %next97 ]
  %v100 = icmp slt i32 %v99, %v94
  br i1 %v100, label %do96, label %end98
do96:
  %v101 = getelementptr float, ptr %v51, i64 0
  %v102 = load <24 x float>, ptr %v101, align 4
  %v103 = mul i64 %v21, 56
  %v104 = mul i64 %v27, 14
  %v105 = add i64 %v104, %v33
  %v106 = mul i64 %v105, 2
  %v107 = sext i32 %v99 to i64
  %v108 = add i64 %v40, %v107
  %v109 = add i64 %v106, %v108
  %v110 = sub i64 %v109, 1
  %v111 = add i64 %v103, %v110
  %v112 = mul i64 %v111, 56
  %v113 = add i64 %v112, 32
  %v114 = getelementptr float, ptr %p0, i64 %v113
  %v115 = load <24 x float>, ptr %v114, align 4
  %v116 = fcmp ogt <24 x float> %v102, %v115
  %v117 = select <24 x i1> %v116, <24 x float> %v102, <24 x float> %v115
  %v118 = bitcast <24 x float> %v102 to <24 x i32>
  %v119 = bitcast <24 x float> %v115 to <24 x i32>
  %v120 = or <24 x i32> %v118, %v119
  %v121 = bitcast <24 x i32> %v120 to <24 x float>
  %v122 = bitcast <24 x float> %v102 to <24 x i32>
  %v123 = bitcast <24 x float> %v115 to <24 x i32>
  %v124 = and <24 x i32> %v122, %v123
  %v125 = bitcast <24 x i32> %v124 to <24 x float>
  %v126 = call <24 x float> @llvm.copysign.v24f32(<24 x float> %v121, <24 x float> %v125)
  %v127 = fcmp ueq <24 x float> %v102, %v115
  %v128 = select <24 x i1> %v127, <24 x float> %v126, <24 x float> %v117
  %v129 = getelementptr float, ptr %v51, i64 0
  store <24 x float> %v128, ptr %v129, align 4
  br label %next97
next97:
  %i.for95 = add i32 %v99, 1
  br label %for95
end98:
  %v130 = getelementptr float, ptr %v51, i64 0
  %v131 = load <24 x float>, ptr %v130, align 4
  %v132 = mul i64 %v33, 57
  %v133 = add i64 %v132, 33
  %v134 = getelementptr float, ptr %v7, i64 %v133
  store <24 x float> %v131, ptr %v134, align 4
  br label %next31
next31:
  %i.for29 = add i64 %v33, 1
  br label %for29
end32:
  br label %for135
for135:
  %v139 = phi i64 [ 0, %end32 ], [ %i.for135, %next137 ]
  %v140 = icmp slt i64 %v139, 14
  br i1 %v140, label %do136, label %end138
do136:
  %v141 = mul i64 %v27, 14
  %v142 = add i64 %v141, %v139
  %v143 = mul i64 %v142, 2
  %v144 = sub i64 %v143, 1
  %v145 = sub i64 56, %v144
  %v146 = call i64 @llvm.smin.i64(i64 %v145, i64 3)
  %v147 = sub i64 0, %v144
  %v148 = call i64 @llvm.smax.i64(i64 %v147, i64 0)
  %v149 = sub i64 %v146, %v148
  %v150 = call i64 @llvm.smax.i64(i64 %v149, i64 0)
  %v151 = mul i64 %v139, 57
  %v152 = getelementptr float, ptr %v7, i64 %v151
  %v153 = getelementptr float, ptr %v152, i64 0
  %v154 = load <16 x float>, ptr %v153, align 4
  %v155 = getelementptr float, ptr %v152, i64 15
  %v156 = load <16 x float>, ptr %v155, align 4
  %v157 = shufflevector <16 x float> %v154, <16 x float> %v156, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v158 = mul i64 %v139, 57
  %v159 = add i64 %v158, 1
  %v160 = getelementptr float, ptr %v7, i64 %v159
  %v161 = getelementptr float, ptr %v160, i64 0
  %v162 = load <16 x float>, ptr %v161, align 4
  %v163 = getelementptr float, ptr %v160, i64 15
  %v164 = load <16 x float>, ptr %v163, align 4
  %v165 = shufflevector <16 x float> %v162, <16 x float> %v164, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v166 = fcmp ogt <16 x float> %v157, %v165
  %v167 = select <16 x i1> %v166, <16 x float> %v157, <16 x float> %v165
  %v168 = bitcast <16 x float> %v157 to <16 x i32>
  %v169 = bitcast <16 x float> %v165 to <16 x i32>
  %v170 = or <16 x i32> %v168, %v169
  %v171 = bitcast <16 x i32> %v170 to <16 x float>
  %v172 = bitcast <16 x float> %v157 to <16 x i32>
  %v173 = bitcast <16 x float> %v165 to <16 x i32>
  %v174 = and <16 x i32> %v172, %v173
  %v175 = bitcast <16 x i32> %v174 to <16 x float>
  %v176 = call <16 x float> @llvm.copysign.v16f32(<16 x float> %v171, <16 x float> %v175)
  %v177 = fcmp ueq <16 x float> %v157, %v165
  %v178 = select <16 x i1> %v177, <16 x float> %v176, <16 x float> %v167
  %v179 = mul i64 %v139, 57
  %v180 = add i64 %v179, 2
  %v181 = getelementptr float, ptr %v7, i64 %v180
  %v182 = getelementptr float, ptr %v181, i64 0
  %v183 = load <16 x float>, ptr %v182, align 4
  %v184 = getelementptr float, ptr %v181, i64 15
  %v185 = load <16 x float>, ptr %v184, align 4
  %v186 = shufflevector <16 x float> %v183, <16 x float> %v185, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %v187 = fcmp ogt <16 x float> %v178, %v186
  %v188 = select <16 x i1> %v187, <16 x float> %v178, <16 x float> %v186
  %v189 = bitcast <16 x float> %v178 to <16 x i32>
  %v190 = bitcast <16 x float> %v186 to <16 x i32>
  %v191 = or <16 x i32> %v189, %v190
  %v192 = bitcast <16 x i32> %v191 to <16 x float>
  %v193 = bitcast <16 x float> %v178 to <16 x i32>
  %v194 = bitcast <16 x float> %v186 to <16 x i32>
  %v195 = and <16 x i32> %v193, %v194
  %v196 = bitcast <16 x i32> %v195 to <16 x float>
  %v197 = call <16 x float> @llvm.copysign.v16f32(<16 x float> %v192, <16 x float> %v196)
  %v198 = fcmp ueq <16 x float> %v178, %v186
  %v199 = select <16 x i1> %v198, <16 x float> %v197, <16 x float> %v188
  %v200 = mul i64 %v21, 28
  %v201 = mul i64 %v27, 14
  %v202 = add i64 %v201, %v139
  %v203 = add i64 %v200, %v202
  %v204 = mul i64 %v203, 28
  %v205 = getelementptr float, ptr %p1, i64 %v204
  store <16 x float> %v199, ptr %v205, align 4
  %v206 = mul i64 %v139, 57
  %v207 = add i64 %v206, 32
  %v208 = getelementptr float, ptr %v7, i64 %v207
  %v209 = getelementptr float, ptr %v208, i64 0
  %v210 = load <12 x float>, ptr %v209, align 4
  %v211 = getelementptr float, ptr %v208, i64 11
  %v212 = load <12 x float>, ptr %v211, align 4
  %v213 = shufflevector <12 x float> %v210, <12 x float> %v212, <12 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23>
  %v214 = mul i64 %v139, 57
  %v215 = add i64 %v214, 33
  %v216 = getelementptr float, ptr %v7, i64 %v215
  %v217 = getelementptr float, ptr %v216, i64 0
  %v218 = load <12 x float>, ptr %v217, align 4
  %v219 = getelementptr float, ptr %v216, i64 11
  %v220 = load <12 x float>, ptr %v219, align 4
  %v221 = shufflevector <12 x float> %v218, <12 x float> %v220, <12 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23>
  %v222 = fcmp ogt <12 x float> %v213, %v221
  %v223 = select <12 x i1> %v222, <12 x float> %v213, <12 x float> %v221
  %v224 = bitcast <12 x float> %v213 to <12 x i32>
  %v225 = bitcast <12 x float> %v221 to <12 x i32>
  %v226 = or <12 x i32> %v224, %v225
  %v227 = bitcast <12 x i32> %v226 to <12 x float>
  %v228 = bitcast <12 x float> %v213 to <12 x i32>
  %v229 = bitcast <12 x float> %v221 to <12 x i32>
  %v230 = and <12 x i32> %v228, %v229
  %v231 = bitcast <12 x i32> %v230 to <12 x float>
  %v232 = call <12 x float> @llvm.copysign.v12f32(<12 x float> %v227, <12 x float> %v231)
  %v233 = fcmp ueq <12 x float> %v213, %v221
  %v234 = select <12 x i1> %v233, <12 x float> %v232, <12 x float> %v223
  %v235 = mul i64 %v139, 57
  %v236 = add i64 %v235, 34
  %v237 = getelementptr float, ptr %v7, i64 %v236
  %v238 = getelementptr float, ptr %v237, i64 0
  %v239 = load <12 x float>, ptr %v238, align 4
  %v240 = getelementptr float, ptr %v237, i64 11
  %v241 = load <12 x float>, ptr %v240, align 4
  %v242 = shufflevector <12 x float> %v239, <12 x float> %v241, <12 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23>
  %v243 = fcmp ogt <12 x float> %v234, %v242
  %v244 = select <12 x i1> %v243, <12 x float> %v234, <12 x float> %v242
  %v245 = bitcast <12 x float> %v234 to <12 x i32>
  %v246 = bitcast <12 x float> %v242 to <12 x i32>
  %v247 = or <12 x i32> %v245, %v246
  %v248 = bitcast <12 x i32> %v247 to <12 x float>
  %v249 = bitcast <12 x float> %v234 to <12 x i32>
  %v250 = bitcast <12 x float> %v242 to <12 x i32>
  %v251 = and <12 x i32> %v249, %v250
  %v252 = bitcast <12 x i32> %v251 to <12 x float>
  %v253 = call <12 x float> @llvm.copysign.v12f32(<12 x float> %v248, <12 x float> %v252)
  %v254 = fcmp ueq <12 x float> %v234, %v242
  %v255 = select <12 x i1> %v254, <12 x float> %v253, <12 x float> %v244
  %v256 = mul i64 %v21, 28
  %v257 = mul i64 %v27, 14
  %v258 = add i64 %v257, %v139
  %v259 = add i64 %v256, %v258
  %v260 = mul i64 %v259, 28
  %v261 = add i64 %v260, 16
  %v262 = getelementptr float, ptr %p1, i64 %v261
  store <12 x float> %v255, ptr %v262, align 4
  br label %next137
next137:
  %i.for135 = add i64 %v139, 1
  br label %for135
end138:
  br label %next25
next25:
  %i.for23 = add i64 %v27, 1
  br label %for23
end26:
  br label %next19
next19:
  %i.for17 = add i64 %v21, 1
  br label %for17
end20:
  ret i32 0
fail1:
  ret i32 1
fail2:
  ret i32 2
}
define i32 @main.entry(ptr %frame) #0 noinline optnone {
%a3 = getelementptr i64, ptr %frame, i64 3
%v3 = load ptr, ptr %a3
%a4 = getelementptr i64, ptr %frame, i64 4
%v4 = load ptr, ptr %a4
%status = call i32 @main(ptr %v3, ptr %v4)
%good = icmp eq i32 %status, 0
br i1 %good, label %on, label %fault
fault:
%told = getelementptr i64, ptr %frame, i64 2
store i32 %status, ptr %told
ret i32 %status
on:
%a0 = getelementptr i64, ptr %frame, i64 0
%v0 = load ptr, ptr %a0
%last = icmp eq ptr %v0, null
br i1 %last, label %end, label %next
next:
%a1 = getelementptr i64, ptr %frame, i64 1
%v1 = load ptr, ptr %a1
%result = musttail call i32 %v0(ptr %v1)
ret i32 %result
end:
ret i32 0
}
