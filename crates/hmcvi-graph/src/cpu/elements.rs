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

/// Copies a column of a matrix, one value of each row, with so many values from row to row on both sides.
#[inline(always)]
pub(super) unsafe fn column<T: Real>(rows: usize, from: *const T, stride: usize, to: *mut T, step: usize) {
    for row in 0..rows {
        // SAFETY: the caller vouches for the rows of both.
        unsafe { *to.add(row * step) = *from.add(row * stride) };
    }
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
    if len == 1 {
        // SAFETY: there is one value. Recurrences have thousands of them, one at a time.
        return unsafe { *to = f(*a) };
    }
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
    if len == 1 {
        // SAFETY: there is one value. Recurrences have thousands of them, one at a time.
        return unsafe { *to = f(*a, *b) };
    }
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
    if len == 1 {
        // SAFETY: there is one value. Recurrences have thousands of them, one at a time.
        return unsafe { *to = f(*a, *b, *c) };
    }
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

/// Values whose exponentials are computed together.
const TOGETHER: usize = 64;

/// `log Σ exp` of every `group` values.
#[inline(always)]
pub(super) fn log_sum_exp<T: Real>(group: usize, x: &[T], to: &mut [T]) {
    let mut buffer = [T::default(); TOGETHER];
    if group > TOGETHER / 2 {
        for (x, to) in x.chunks_exact(group).zip(to) {
            let (most, mut total) = (largest(x), T::default());
            for x in x.chunks(TOGETHER) {
                exponentials(x, from_largest(most), &mut buffer);
                total = buffer[..x.len()].iter().fold(total, |sum, x| sum + *x);
            }
            *to = logarithm(most, total.log());
        }
        return;
    }
    let (count, mut most) = (TOGETHER / group, [T::default(); TOGETHER]);
    for (x, to) in x.chunks(count * group).zip(to.chunks_mut(count)) {
        for ((x, most), buffer) in x.chunks_exact(group).zip(&mut most).zip(buffer.chunks_exact_mut(group)) {
            *most = largest(x);
            let shift = from_largest(*most);
            buffer.iter_mut().zip(x).for_each(|(to, x)| *to = *x - shift);
        }
        // SAFETY: so many values are in each place; they are written where they are read.
        unsafe {
            let place = buffer.as_mut_ptr();
            apply_unary(Unary::Exp, x.len(), place, place);
        }
        for (to, exponentials) in to.iter_mut().zip(buffer.chunks_exact(group)) {
            *to = exponentials.iter().fold(T::default(), |sum, x| sum + *x);
        }
        // SAFETY: as above.
        unsafe { apply_unary(Unary::Log, to.len(), to.as_ptr(), to.as_mut_ptr()) };
        to.iter_mut().zip(&most).for_each(|(to, most)| *to = logarithm(*most, *to));
    }
}

#[inline(always)]
fn largest<T: Real>(x: &[T]) -> T {
    x.iter().fold(T::from_f64(f64::NEG_INFINITY), |most, x| binary(Binary::Max, most, *x))
}

/// What is taken off before exponentials are computed.
#[inline(always)]
fn from_largest<T: Real>(most: T) -> T {
    if most.abs() == T::from_f64(f64::INFINITY) { T::default() } else { most }
}

/// Infinite values of one sign stand for themselves.
#[inline(always)]
fn logarithm<T: Real>(most: T, of_sum: T) -> T {
    if most.abs() == T::from_f64(f64::INFINITY) { most } else { most + of_sum }
}

/// `exp(x - shift)` of at most `TOGETHER` values.
#[inline(always)]
fn exponentials<T: Real>(x: &[T], shift: T, to: &mut [T; TOGETHER]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to = *x - shift);
    // SAFETY: there are so many values, which are written where they are read.
    unsafe { apply_unary(Unary::Exp, x.len(), to.as_ptr(), to.as_mut_ptr()) };
}
