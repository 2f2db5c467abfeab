//! Symmetric positive definite matrices: Cholesky's factor, systems of equations, and the inverse
//! of the factor.
//!
//! Matrices are dense, in rows. Loops go over some rows at a time, so that a row is fetched from
//! memory once for all of them.

/// Rows that share one pass over another row.
const ROWS: usize = 8;

/// Whether the square of a number, and sums of such squares, are numbers. False for NaN and
/// infinity.
pub(crate) fn is_squarable(number: f64) -> bool {
    number.abs() <= 1e100
}

/// A symmetric matrix; its lower triangle counts.
#[derive(Debug, Clone)]
pub(crate) struct Symmetric {
    n: usize,
    rows: Vec<f64>,
}

impl Symmetric {
    /// A matrix of zeros.
    pub(crate) fn zeros(n: usize) -> Self {
        Self { n, rows: vec![0.0; n * n] }
    }

    /// Adds to the element in row `i` and column `j`, and so to its mirror image.
    pub(crate) fn add(&mut self, i: usize, j: usize, value: f64) {
        let (row, column) = (i.max(j), i.min(j));
        self.rows[row * self.n + column] += value;
    }

    /// The factor L of this matrix L L'. `None` unless it is positive definite to the precision of
    /// its numbers. O(n^3).
    pub(crate) fn cholesky(self) -> Option<Cholesky> {
        let Self { n, mut rows } = self;
        for first in (0..n).step_by(ROWS) {
            let (done, rest) = rows.split_at_mut(first * n);
            let some = ROWS.min(n - first);
            let block = &mut rest[..some * n];
            for column in 0..first {
                let other = &done[column * n..=column * n + column];
                for row in block.chunks_exact_mut(n) {
                    row[column] =
                        (row[column] - dot(&row[..column], &other[..column])) / other[column];
                }
            }
            for place in 0..some {
                let (above, row) = block.split_at_mut(place * n);
                let row = &mut row[..n];
                for column in first..first + place {
                    let other = &above[(column - first) * n..][..=column];
                    row[column] =
                        (row[column] - dot(&row[..column], &other[..column])) / other[column];
                }
                let at = first + place;
                let whole = row[at];
                let left = whole - dot(&row[..at], &row[..at]);
                if left.is_nan() || left <= whole.abs() * 1e-14 {
                    return None;
                }
                row[at] = left.sqrt();
            }
        }
        Some(Cholesky { n, rows })
    }
}

/// Cholesky's factor of a matrix: lower triangular.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    n: usize,
    rows: Vec<f64>,
}

impl Cholesky {
    /// The logarithm of the determinant of the matrix.
    pub(crate) fn ln_determinant(&self) -> f64 {
        (0..self.n).map(|at| 2.0 * self.rows[at * self.n + at].ln()).sum()
    }

    /// Solves the system of equations of the matrix, in place of the right-hand side. O(n^2).
    pub(crate) fn solve(&self, right: &mut [f64]) {
        for at in 0..self.n {
            let row = &self.rows[at * self.n..][..=at];
            right[at] = (right[at] - dot(&row[..at], &right[..at])) / row[at];
        }
        for at in (0..self.n).rev() {
            let row = &self.rows[at * self.n..][..=at];
            right[at] /= row[at];
            let value = right[at];
            for (each, factor) in right[..at].iter_mut().zip(row) {
                *each -= factor * value;
            }
        }
    }

    /// The columns of the inverse of the factor. O(n^3).
    pub(crate) fn inverse_columns(&self) -> Columns {
        let n = self.n;
        let mut columns = vec![0.0; n * n];
        for (block, some) in columns.chunks_mut(ROWS * n).enumerate() {
            let first = block * ROWS;
            for at in first..n {
                let row = &self.rows[at * n..][..=at];
                for (place, column) in some.chunks_exact_mut(n).enumerate() {
                    let from = first + place;
                    if from < at {
                        column[at] = -dot(&row[from..at], &column[from..at]) / row[at];
                    } else if from == at {
                        column[at] = 1.0 / row[at];
                    }
                }
            }
        }
        Columns { n, columns }
    }
}

/// The columns of the inverse M of Cholesky's factor: the inverse of the matrix is M' M, and a
/// quadratic form b' M' M b the square of M b.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    n: usize,
    columns: Vec<f64>,
}

impl Columns {
    /// A column. Its elements before the diagonal are 0.
    pub(crate) fn column(&self, at: usize) -> &[f64] {
        &self.columns[at * self.n..][..self.n]
    }

    /// M b for a vector b whose other elements are 0.
    pub(crate) fn times(&self, elements: &[(usize, f64)]) -> Vec<f64> {
        let mut product = vec![0.0; self.n];
        for (at, value) in elements {
            for (each, factor) in product[*at..].iter_mut().zip(&self.column(*at)[*at..]) {
                *each += factor * value;
            }
        }
        product
    }
}

/// The scalar product of two vectors of one length. Four sums at a time do not wait for each other.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sums, quads) = ([0.0; 8], a.len() / 8 * 8);
    for (a, b) in a[..quads].chunks_exact(8).zip(b[..quads].chunks_exact(8)) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    let rest: f64 = a[quads..].iter().zip(&b[quads..]).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    /// The product of a random matrix with itself, as rows.
    fn random(n: usize) -> Vec<Vec<f64>> {
        let mut random = Pcg64::seed_from_u64(n as u64);
        let factor: Vec<Vec<f64>> =
            (0..n).map(|_| (0..n).map(|_| random.random::<f64>() - 0.5).collect()).collect();
        let element =
            |i: usize, j: usize| dot(&factor[i], &factor[j]) + f64::from(u8::from(i == j));
        (0..n).map(|i| (0..n).map(|j| element(i, j)).collect()).collect()
    }

    fn symmetric(rows: &[Vec<f64>]) -> Symmetric {
        let mut matrix = Symmetric::zeros(rows.len());
        for (i, row) in rows.iter().enumerate() {
            for (j, value) in row.iter().enumerate().take(i + 1) {
                matrix.add(j, i, *value);
            }
        }
        matrix
    }

    #[test]
    fn solutions_solve_their_equations_for_any_number_of_rows() {
        for n in [1, 2, 7, 8, 9, 16, 31, 60] {
            let rows = random(n);
            let factor = symmetric(&rows).cholesky().unwrap();
            let truth: Vec<f64> = (0..n).map(|at| at as f64 - 3.0).collect();
            let mut solution: Vec<f64> = rows.iter().map(|row| dot(row, &truth)).collect();
            factor.solve(&mut solution);
            for (found, truth) in solution.iter().zip(&truth) {
                assert!((found - truth).abs() < 1e-8, "{found} {truth} of {n}");
            }
        }
    }

    #[test]
    fn the_inverse_of_the_factor_gives_the_inverse_of_the_matrix() {
        for n in [1, 3, 8, 20] {
            let rows = random(n);
            let factor = symmetric(&rows).cholesky().unwrap();
            let columns = factor.inverse_columns();
            for at in 0..n {
                let mut unit = vec![0.0; n];
                unit[at] = 1.0;
                factor.solve(&mut unit);
                let product = columns.times(&[(at, 1.0)]);
                assert_eq!(product, columns.column(at));
                assert!((dot(&product, &product) - unit[at]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn a_determinant_by_hand() {
        let factor = symmetric(&[vec![4.0, 2.0], vec![2.0, 3.0]]).cholesky().unwrap();
        assert!((factor.ln_determinant() - 8.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        assert!(symmetric(&[vec![1.0, 2.0], vec![2.0, 1.0]]).cholesky().is_none());
        assert!(symmetric(&[vec![1.0, 1.0], vec![1.0, 1.0]]).cholesky().is_none());
        assert!(symmetric(&[vec![f64::NAN]]).cholesky().is_none());
    }
}
