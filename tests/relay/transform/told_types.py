"""A program with types of which only the type arguments of calls tell."""

TOLD_BY_CALLS = """
type List[A] { Cons(A, List[A]), Nil, }
type Tagged[A] { Tag(float32), }

def @tagged<A>(%x: float32) -> float32 { %x }

def @same<A>(%x: A) -> A {
  let %none = Nil<A>();
  let %keep = fn (%y: A) -> A {
    match (Nil<A>()) { Nil => { %y }, Cons(_, _) => { %y }, }
  };
  %keep(%x)
}

def @captures<A>(%x: float32) -> float32 {
  let %f = fn (%y: float32) -> float32 {
    match (Nil<A>()) { Nil => { add(%y, %x) }, Cons(_, _) => { %x }, }
  };
  %f(%x)
}

def @captures_none<A>(%x: float32) -> float32 {
  let %count = fn (%y: float32) -> float32 {
    %0 = less(%y, 1f);
    if (%0) {
      match (Nil<A>()) { Nil => { 2f }, Cons(_, _) => { 3f }, }
    } else {
      %1 = subtract(%y, 1f);
      %count(%1)
    }
  };
  %count(%x)
}

def @f0(%x: float32, %y: float32) -> float32 {
  let %unused = Nil<float32>();
  let %f = fn (%z: float32) -> float32 {
    match (Tag<int8>(%z)) {
      Tag(%v) => {
        match (Nil<float32>()) { Nil => { add(%v, %y) }, Cons(_, _) => { %v }, }
      },
    }
  };
  %0 = @tagged<int8>(%x);
  %1 = @same<float32>(%0);
  %2 = @captures<int8>(%1);
  %3 = %f(%2);
  %4 = @captures_none<int8>(2f);
  %5 = add(%3, %4);
  let %g = fn <B>(%z: float32) -> float32 {
    match (Nil<B>()) { Nil => { %z }, Cons(_, _) => { %z }, }
  };
  %6 = fn <C>(%q: float32) -> float32 {
    let %w = Nil<C>();
    %q
  };
  %7 = %6<int8>(%5);
  %g<float32>(%7)
}
"""
