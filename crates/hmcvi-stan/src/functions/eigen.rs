//! Find eigenvalues and eigenvectors of any square matrix: `A = U T U*` by shifted rotations.

use num_complex::Complex64;

/// Rotations of all rows for one eigenvalue, at most.
const MOST: usize = 300;

/// `A = U T U*` with `T` upper triangular, row by row.
pub(super) struct Schur {
    pub(super) t: Vec<Complex64>,
    pub(super) u: Vec<Complex64>,
    n: usize,
}

/// The Schur form of a matrix with these parts; none where it has values that are not finite.
pub(super) fn schur(re: &[f64], im: &[f64], n: usize) -> Option<Schur> {
    let t: Vec<Complex64> = re.iter().zip(im).map(|(re, im)| Complex64::new(*re, *im)).collect();
    if t.iter().any(|z| !z.is_finite()) {
        return None;
    }
    let u = (0..n * n).map(|at| Complex64::from(f64::from(u8::from(at / n == at % n)))).collect();
    let mut found = Schur { t, u, n };
    found.hessenberg();
    let (mut end, mut steps) = (n, 0);
    while end > 1 {
        let mut start = end - 1;
        while start > 0 && !found.is_small(start) {
            start -= 1;
        }
        if start == end - 1 {
            (end, steps) = (end - 1, 0);
            continue;
        }
        steps += 1;
        if steps > MOST {
            return None;
        }
        found.step(start, end, steps);
    }
    Some(found)
}

impl Schur {
    /// Takes what stands below the first subdiagonal away by rotations of neighbouring rows.
    fn hessenberg(&mut self) {
        for column in 0..self.n.saturating_sub(2) {
            for row in (column + 2..self.n).rev() {
                let (a, b) = (self.t[(row - 1) * self.n + column], self.t[row * self.n + column]);
                self.rotate(row - 1, rotation(a, b));
                self.t[row * self.n + column] = Complex64::ZERO;
            }
        }
    }

    /// Whether the entry below the diagonal in this row counts for nothing; then it is none.
    fn is_small(&mut self, row: usize) -> bool {
        let n = self.n;
        let near = self.t[row * n + row].norm() + self.t[(row - 1) * n + row - 1].norm();
        let small = self.t[row * n + row - 1].norm() <= f64::EPSILON * near.max(f64::MIN_POSITIVE);
        if small {
            self.t[row * n + row - 1] = Complex64::ZERO;
        }
        small
    }

    /// One sweep with the eigenvalue of the last two rows that is nearer to the last entry.
    fn step(&mut self, start: usize, end: usize, steps: usize) {
        let (n, last) = (self.n, end - 1);
        let [a, b] = [self.t[(last - 1) * n + last - 1], self.t[(last - 1) * n + last]];
        let [c, d] = [self.t[last * n + last - 1], self.t[last * n + last]];
        let half = (a - d) * 0.5;
        let root = (half * half + b * c).sqrt();
        let root = if (half.conj() * root).re < 0.0 { -root } else { root };
        let mut shift = if (half + root).norm() > 0.0 { d - b * c / (half + root) } else { d };
        if steps.is_multiple_of(10) {
            // Matrices that turn in circles get another start.
            shift = Complex64::new(c.norm() + d.re, 0.7 * c.norm());
        }
        let first = self.t[start * n + start] - shift;
        let mut turn = rotation(first, self.t[(start + 1) * n + start]);
        for row in start..last {
            if row > start {
                let (x, y) = (self.t[row * n + row - 1], self.t[(row + 1) * n + row - 1]);
                turn = rotation(x, y);
            }
            self.rotate(row, turn);
            if row > start {
                self.t[(row + 1) * n + row - 1] = Complex64::ZERO;
            }
        }
    }

    /// Rotates a row and the next, and the columns back.
    fn rotate(&mut self, row: usize, (c, s): (f64, Complex64)) {
        let n = self.n;
        for k in 0..n {
            let (x, y) = (self.t[row * n + k], self.t[(row + 1) * n + k]);
            self.t[row * n + k] = x * c + s * y;
            self.t[(row + 1) * n + k] = y * c - s.conj() * x;
        }
        for all in [&mut self.t, &mut self.u] {
            for k in 0..n {
                let (x, y) = (all[k * n + row], all[k * n + row + 1]);
                all[k * n + row] = x * c + s.conj() * y;
                all[k * n + row + 1] = y * c - s * x;
            }
        }
    }

    pub(super) fn values(&self) -> Vec<Complex64> {
        (0..self.n).map(|i| self.t[i * self.n + i]).collect()
    }

    /// Eigenvectors of length 1 in the columns.
    pub(super) fn vectors(&self) -> Vec<Complex64> {
        let n = self.n;
        let mut all = vec![Complex64::ZERO; n * n];
        let size = self.t.iter().map(|z| z.norm()).fold(f64::MIN_POSITIVE, f64::max);
        for k in 0..n {
            // T x = λ x, from the diagonal upwards.
            let mut x = vec![Complex64::ZERO; n];
            x[k] = Complex64::ONE;
            for i in (0..k).rev() {
                let rest: Complex64 = (i + 1..=k).map(|j| self.t[i * n + j] * x[j]).sum();
                let gap = self.t[i * n + i] - self.t[k * n + k];
                // Values that are equal are kept apart by what rounding leaves.
                let gap =
                    if gap.norm() < f64::EPSILON * size { Complex64::from(f64::EPSILON * size) } else { gap };
                x[i] = -rest / gap;
            }
            let own: Vec<Complex64> =
                (0..n).map(|i| (0..=k).map(|j| self.u[i * n + j] * x[j]).sum()).collect();
            let length = own.iter().map(|z| z.norm_sqr()).sum::<f64>().sqrt();
            (0..n).for_each(|i| all[i * n + k] = own[i] / length);
        }
        all
    }
}

/// `c` and `s` with `[c, s; -s*, c] [a; b] = [r; 0]`.
fn rotation(a: Complex64, b: Complex64) -> (f64, Complex64) {
    let length = a.norm().hypot(b.norm());
    if length == 0.0 || b.norm() == 0.0 {
        return (1.0, Complex64::ZERO);
    }
    if a.norm() == 0.0 {
        return (0.0, b.conj() / b.norm());
    }
    let phase = a / a.norm();
    (a.norm() / length, phase * b.conj() / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_come_back_from_their_eigenvalues_and_vectors() {
        let n = 6;
        let re: Vec<f64> = (0..n * n).map(|i| (1.3 * i as f64).sin()).collect();
        let im: Vec<f64> =
            (0..n * n).map(|i| if i % 2 == 0 { (0.7 * i as f64).cos() } else { 0.0 }).collect();
        for im in [vec![0.0; n * n], im] {
            let found = schur(&re, &im, n).expect("a form");
            let (values, vectors) = (found.values(), found.vectors());
            for i in 0..n {
                for k in 0..n {
                    let own: Complex64 = (0..n)
                        .map(|j| Complex64::new(re[i * n + j], im[i * n + j]) * vectors[j * n + k])
                        .sum();
                    assert!((own - values[k] * vectors[i * n + k]).norm() < 1e-12, "{i} {k}");
                }
            }
        }
    }

    #[test]
    fn a_turn_by_a_right_angle_has_the_values_i_and_minus_i() {
        let mut values = schur(&[0.0, 1.0, -1.0, 0.0], &[0.0; 4], 2).expect("a form").values();
        values.sort_by(|a, b| a.im.total_cmp(&b.im));
        assert!((values[0] + Complex64::I).norm() < 1e-14 && (values[1] - Complex64::I).norm() < 1e-14);
        // The companion of x³ = 1 turns in circles.
        assert_eq!(
            schur(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], &[0.0; 9], 3).map(|s| s.values().len()),
            Some(3)
        );
        assert!(schur(&[f64::NAN], &[0.0], 1).is_none());
    }
}
