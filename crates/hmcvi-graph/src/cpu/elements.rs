//! Loop over the values of a block: functions of one, two and three arguments, and sums.

use crate::op::{Binary, Unary};
use crate::real::{Real, binary, unary};

#[inline(always)]
pub(super) unsafe fn apply_unary<T: Real>(f: Unary, len: usize, a: *const T, to: *mut T) {
    macro_rules! cases {
        ($($name:ident)*) => { match f { $(
            // SAFETY: the caller vouches for `len` values.
            Unary::$name => unsafe { map1(len, a, to, #[inline(always)] |x| unary(Unary::$name, x)) },
        )* } };
    }
    cases!(Neg Abs Sqrt Exp Log Log1p Sigmoid Softplus Tanh Broadcast)
}

#[inline(always)]
pub(super) unsafe fn apply_binary<T: Real>(f: Binary, len: usize, a: *const T, b: *const T, to: *mut T) {
    macro_rules! cases {
        ($($name:ident)*) => { match f { $(
            // SAFETY: the caller vouches for `len` values.
            Binary::$name => unsafe { map2(len, a, b, to, #[inline(always)] |x, y| binary(Binary::$name, x, y)) },
        )* } };
    }
    cases!(Add Sub Mul Div Min Max Less LessEqual Equal)
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
unsafe fn read<T: Real>(from: *const T, count: usize) -> [T; WIDTH] {
    // SAFETY: the caller vouches for `count` values, at most WIDTH.
    unsafe {
        if count == WIDTH {
            return from.cast::<[T; WIDTH]>().read_unaligned();
        }
        let mut values = [T::from_byte(1); WIDTH];
        for (i, value) in values.iter_mut().enumerate().take(count) {
            *value = *from.add(i);
        }
        values
    }
}

#[inline(always)]
unsafe fn write<T: Real>(to: *mut T, values: [T; WIDTH], count: usize) {
    // SAFETY: the caller vouches for `count` values, at most WIDTH.
    unsafe {
        if count == WIDTH {
            return to.cast::<[T; WIDTH]>().write_unaligned(values);
        }
        for (i, value) in values.iter().enumerate().take(count) {
            *to.add(i) = *value;
        }
    }
}

// The loops over chunks are written so that the function occurs once: it must be inlined to be
// compiled for the instruction set that the group was dispatched to.

#[inline(always)]
pub(super) unsafe fn map1<T: Real>(len: usize, a: *const T, to: *mut T, f: impl Fn(T) -> T) {
    for at in (0..len).step_by(WIDTH) {
        let count = WIDTH.min(len - at);
        // SAFETY: the caller vouches for `len` values, of which these are some.
        unsafe {
            let mut x = read(a.add(at), count);
            for x in &mut x {
                *x = f(*x);
            }
            write(to.add(at), x, count);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn map2<T: Real>(len: usize, a: *const T, b: *const T, to: *mut T, f: impl Fn(T, T) -> T) {
    for at in (0..len).step_by(WIDTH) {
        let count = WIDTH.min(len - at);
        // SAFETY: the caller vouches for `len` values, of which these are some.
        unsafe {
            let (mut x, y) = (read(a.add(at), count), read(b.add(at), count));
            for i in 0..WIDTH {
                x[i] = f(x[i], y[i]);
            }
            write(to.add(at), x, count);
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
    for at in (0..len).step_by(WIDTH) {
        let count = WIDTH.min(len - at);
        // SAFETY: the caller vouches for `len` values, of which these are some.
        unsafe {
            let (mut x, y, z) = (read(a.add(at), count), read(b.add(at), count), read(c.add(at), count));
            for i in 0..WIDTH {
                x[i] = f(x[i], y[i], z[i]);
            }
            write(to.add(at), x, count);
        }
    }
}

/// Combines all values: `WIDTH` chains side by side, then those in order, so that the result does
/// not depend on the instruction set.
#[inline(always)]
unsafe fn reduce<T: Real>(len: usize, from: *const T, neutral: T, f: impl Fn(T, T) -> T) -> T {
    let mut chains = [neutral; WIDTH];
    for at in (0..len).step_by(WIDTH) {
        let count = WIDTH.min(len - at);
        // SAFETY: the caller vouches for `len` values, of which these are some.
        let x = unsafe { read(from.add(at), count) };
        if count == WIDTH {
            for i in 0..WIDTH {
                chains[i] = f(chains[i], x[i]);
            }
        } else {
            for i in 0..count {
                chains[i] = f(chains[i], x[i]);
            }
        }
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
