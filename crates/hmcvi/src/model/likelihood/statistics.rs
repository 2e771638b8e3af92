//! Find out what a likelihood should know about the columns of the data before training begins.

use std::sync::Arc;

/// Means and standard deviations of the columns of the training data.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Mean of every column.
    pub mean: Vec<f32>,
    /// Standard deviation of every column; 1 for those that never change.
    pub scale: Vec<f32>,
    /// Mean sum of a row; 1 where that is not above 0.
    pub row_total: f32,
    /// Number of rows.
    pub rows: usize,
}

/// Mean and sum of squared distances from it of the values seen so far (Welford).
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let distance = value - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (value - self.mean);
    }

    /// The same with zeros, so that there are `total` values in all.
    fn with_zeros(self, total: f64) -> Moments {
        let zeros = total - self.count;
        let mean = self.mean * self.count / total;
        Moments {
            count: total,
            mean,
            squares: self.squares + self.mean * self.mean * self.count * zeros / total,
        }
    }
}

impl ColumnStatistics {
    /// The statistics of rows, each given by the columns and values of what is not zero in it.
    ///
    /// # Panics
    /// If a row has more columns than `columns`.
    pub fn of_rows<R>(columns: usize, rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item = (usize, f32)>,
    {
        let mut moments = vec![Moments::default(); columns];
        let mut count = 0;
        for row in rows {
            count += 1;
            row.into_iter().for_each(|(column, value)| moments[column].add(value.into()));
        }
        Self::of_moments(&moments, count)
    }

    fn of_moments(moments: &[Moments], rows: usize) -> Self {
        let n = rows.max(1) as f64;
        let all: Vec<Moments> = moments.iter().map(|column| column.with_zeros(n)).collect();
        // Only what single precision can divide by.
        let or_one = |x: f64| if x as f32 >= f32::MIN_POSITIVE { x as f32 } else { 1.0 };
        ColumnStatistics {
            mean: all.iter().map(|column| column.mean as f32).collect(),
            scale: all.iter().map(|column| or_one((column.squares / n).sqrt())).collect(),
            row_total: or_one(all.iter().map(|column| column.mean).sum()),
            rows,
        }
    }

    /// Means of counts. A column in which nothing was counted may still have been unlucky: it counts as half an event.
    pub(super) fn positive_mean(&self) -> Arc<[f32]> {
        let least = 0.5 / self.rows.max(1) as f32;
        self.mean.iter().map(|mean| mean.max(least)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_rows_have_the_moments_of_dense_ones() {
        // Columns: some zeros, none, all, a constant, large numbers that are near to each other.
        let dense = [
            [0.0, 1.5, 0.0, 7.0, 1_000_000.0f32],
            [3.0, -2.5, 0.0, 7.0, 1_000_001.0],
            [0.0, 0.25, 0.0, 7.0, 1_000_002.0],
            [1.0, 4.0, 0.0, 7.0, 1_000_001.0],
        ];
        let rows = dense.map(|row| row.into_iter().enumerate().filter(|(_, value)| *value != 0.0));
        let found = ColumnStatistics::of_rows(5, rows);
        for column in 0..5 {
            let values = dense.map(|row| f64::from(row[column]));
            let mean = values.iter().sum::<f64>() / 4.0;
            let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
            assert_eq!(found.mean[column], mean as f32, "mean {column}");
            let expected = if deviation > 0.0 { deviation as f32 } else { 1.0 };
            assert!((found.scale[column] - expected).abs() < 1e-6 * expected, "scale {column}");
        }
        let total = dense.iter().flatten().map(|x| f64::from(*x)).sum::<f64>() / 4.0;
        assert_eq!((found.row_total, found.rows), (total as f32, 4));
        // Half an event in four rows.
        assert_eq!(found.positive_mean()[..4], [1.0, 0.8125, 0.125, 7.0]);
    }

    #[test]
    fn no_rows_and_empty_rows_give_numbers_to_divide_by() {
        let none = ColumnStatistics::of_rows(2, std::iter::empty::<[(usize, f32); 0]>());
        assert_eq!((none.scale.as_slice(), none.row_total), (&[1.0f32, 1.0][..], 1.0));
        assert_eq!(none.positive_mean()[..], [0.5, 0.5]);
        let empty: [[(usize, f32); 0]; 3] = [[]; 3];
        assert_eq!(ColumnStatistics::of_rows(1, empty).scale, [1.0]);
    }
}
