//! Loop over the values of a block: functions of one, two and three arguments, and sums.

use crate::op::{Binary, Unary};
use crate::real::{Real, binary, unary};

#[inline(always)]
pub(super) unsafe fn apply_unary<T: Real>(f: Unary, len: usize, a: *const T, to: *mut T) {
    macro_rules! cases {
        ($($name:ident $(($order:pat => $known:expr))?)*) => { match f { $(
            // SAFETY: the caller vouches for `len` values.
            Unary::$name $(($order))? => unsafe {
                map1(len, a, to, #[inline(always)] |x| unary(Unary::$name $(($known))?, x))
            },
        )* } };
    }
    // The first orders are compiled on their own: their loops are unrolled and become vector code.
    cases!(
        Neg Abs Sqrt Exp Log Log1p Expm1 Sin Cos Atan Sigmoid Softplus Tanh Erf Erfc LogNormalCdf InverseMills
        Lgamma Broadcast
        Polygamma(0 => 0) Polygamma(1 => 1) Polygamma(2 => 2) Polygamma(3 => 3) Polygamma(order => order)
    )
}

#[inline(always)]
pub(super) unsafe fn apply_binary<T: Real>(f: Binary, len: usize, a: *const T, b: *const T, to: *mut T) {
    macro_rules! cases {
        ($($name:ident)*) => { match f { $(
            // SAFETY: the caller vouches for `len` values.
            Binary::$name => unsafe { map2(len, a, b, to, #[inline(always)] |x, y| binary(Binary::$name, x, y)) },
        )* } };
    }
    cases!(Add Sub Mul Div Pow Min Max Less LessEqual Equal)
}

/// Values that are loaded, computed and stored together: loops over them become vector code, and
/// since all loads come first a result may overwrite an argument.
pub(super) const WIDTH: usize = 16;

#[inline(always)]
pub(super) unsafe fn copy<T: Real>(len: usize, from: *const T, to: *mut T) {
    // SAFETY: the caller vouches for `len` values; they may overlap only if they are the same.
    unsafe { std::ptr::copy(from, to, len) }
}

#[inline(always)]
unsafe fn read<T: Real>(from: *const T) -> [T; WIDTH] {
    // SAFETY: the caller vouches for `WIDTH` values.
    unsafe { from.cast::<[T; WIDTH]>().read_unaligned() }
}

#[inline(always)]
unsafe fn write<T: Real>(to: *mut T, values: [T; WIDTH]) {
    // SAFETY: the caller vouches for `WIDTH` values.
    unsafe { to.cast::<[T; WIDTH]>().write_unaligned(values) }
}

/// The first `count` values, filled up with ones.
#[inline(always)]
unsafe fn read_some<T: Real>(from: *const T, count: usize) -> [T; WIDTH] {
    let mut values = [T::from_byte(1); WIDTH];
    for (i, value) in values.iter_mut().enumerate().take(count) {
        // SAFETY: the caller vouches for `count` values.
        *value = unsafe { *from.add(i) };
    }
    values
}

#[inline(always)]
unsafe fn write_some<T: Real>(to: *mut T, values: [T; WIDTH], count: usize) {
    for (i, value) in values.iter().enumerate().take(count) {
        // SAFETY: the caller vouches for `count` values.
        unsafe { *to.add(i) = *value };
    }
}

#[inline(always)]
fn zip1<T: Real>(x: [T; WIDTH], f: &impl Fn(T) -> T) -> [T; WIDTH] {
    let mut to = x;
    for i in 0..WIDTH {
        to[i] = f(x[i]);
    }
    to
}

#[inline(always)]
fn zip2<T: Real>(x: [T; WIDTH], y: [T; WIDTH], f: &impl Fn(T, T) -> T) -> [T; WIDTH] {
    let mut to = x;
    for i in 0..WIDTH {
        to[i] = f(x[i], y[i]);
    }
    to
}

#[inline(always)]
fn zip3<T: Real>(x: [T; WIDTH], y: [T; WIDTH], z: [T; WIDTH], f: &impl Fn(T, T, T) -> T) -> [T; WIDTH] {
    let mut to = x;
    for i in 0..WIDTH {
        to[i] = f(x[i], y[i], z[i]);
    }
    to
}

/// Keeps the compiler from vectorising a loop over chunks, once it has unrolled those inside: where there are gather
/// instructions (f64 with AVX2, all types with AVX-512) it would collect every eighth value of eight chunks instead of
/// loading chunks as they lie in memory, which makes a whole training step a third slower.
#[inline(always)]
fn one_chunk_at_a_time() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: there is no instruction.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

// Whole chunks first, then the rest: with one loop for both the values would go through memory. The
// functions have to be inlined to be compiled for the instruction set that the group was dispatched to.

#[inline(always)]
pub(super) unsafe fn map1<T: Real>(len: usize, a: *const T, to: *mut T, f: impl Fn(T) -> T) {
    let whole = len - len % WIDTH;
    // SAFETY: the caller vouches for `len` values, of which these are some.
    unsafe {
        for at in (0..whole).step_by(WIDTH) {
            one_chunk_at_a_time();
            write(to.add(at), zip1(read(a.add(at)), &f));
        }
        if whole < len {
            write_some(to.add(whole), zip1(read_some(a.add(whole), len - whole), &f), len - whole);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn map2<T: Real>(len: usize, a: *const T, b: *const T, to: *mut T, f: impl Fn(T, T) -> T) {
    let whole = len - len % WIDTH;
    // SAFETY: the caller vouches for `len` values, of which these are some.
    unsafe {
        for at in (0..whole).step_by(WIDTH) {
            one_chunk_at_a_time();
            write(to.add(at), zip2(read(a.add(at)), read(b.add(at)), &f));
        }
        if whole < len {
            let rest = len - whole;
            let (x, y) = (read_some(a.add(whole), rest), read_some(b.add(whole), rest));
            write_some(to.add(whole), zip2(x, y, &f), rest);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn map3<T: Real>(
    len: usize,
    a: *const T,
    b: *const T,
    c: *const T,
    to: *mut T,
    f: impl Fn(T, T, T) -> T,
) {
    let whole = len - len % WIDTH;
    // SAFETY: the caller vouches for `len` values, of which these are some.
    unsafe {
        for at in (0..whole).step_by(WIDTH) {
            one_chunk_at_a_time();
            write(to.add(at), zip3(read(a.add(at)), read(b.add(at)), read(c.add(at)), &f));
        }
        if whole < len {
            let rest = len - whole;
            let (x, y) = (read_some(a.add(whole), rest), read_some(b.add(whole), rest));
            let z = read_some(c.add(whole), rest);
            write_some(to.add(whole), zip3(x, y, z, &f), rest);
        }
    }
}

/// Combines all values: `WIDTH` chains side by side, then those in order, so that the result does
/// not depend on the instruction set.
#[inline(always)]
unsafe fn reduce<T: Real>(len: usize, from: *const T, neutral: T, f: impl Fn(T, T) -> T) -> T {
    let mut chains = [neutral; WIDTH];
    let whole = len - len % WIDTH;
    for at in (0..whole).step_by(WIDTH) {
        // SAFETY: the caller vouches for `len` values, of which these are some.
        let x = unsafe { read(from.add(at)) };
        for i in 0..WIDTH {
            chains[i] = f(chains[i], x[i]);
        }
    }
    for i in 0..len - whole {
        // SAFETY: as above.
        chains[i] = f(chains[i], unsafe { *from.add(whole + i) });
    }
    let mut width = WIDTH;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            chains[i] = f(chains[i], chains[i + width]);
        }
    }
    chains[0]
}

#[inline(always)]
pub(super) unsafe fn sum<T: Real>(len: usize, from: *const T) -> T {
    // SAFETY: guaranteed by the caller.
    unsafe { reduce(len, from, T::default(), |a, b| a + b) }
}

#[inline(always)]
pub(super) unsafe fn log_sum_exp<T: Real>(len: usize, from: *const T) -> T {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let most = reduce(len, from, T::from_f64(f64::NEG_INFINITY), |a, b| binary(Binary::Max, a, b));
        // Infinite values of one sign stand for themselves.
        if most.abs() == T::from_f64(f64::INFINITY) {
            return most;
        }
        let mut total = T::default();
        for i in 0..len {
            total = total + (*from.add(i) - most).exp();
        }
        most + total.log()
    }
}
