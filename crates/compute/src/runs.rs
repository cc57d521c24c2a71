//! Where the runs of strided operands begin.

/// The runs of some operands, one after the other.
pub struct Runs<'a, const N: usize> {
    /// The sizes of the dimensions before the run.
    sizes: &'a [usize],
    steps: [&'a [usize]; N],
    indices: Vec<usize>,
    /// Where the operands' runs begin in memory.
    pub starts: [usize; N],
}

impl<'a, const N: usize> Runs<'a, N> {
    /// Begins with the run of this number.
    pub fn at(mut run: usize, sizes: &'a [usize], steps: [&'a [usize]; N]) -> Self {
        let (mut indices, mut starts) = (vec![0; sizes.len()], [0; N]);
        for (i, index) in indices.iter_mut().enumerate().rev() {
            *index = run % sizes[i];
            run /= sizes[i];
            for (start, steps) in starts.iter_mut().zip(steps) {
                *start += *index * steps[i];
            }
        }
        Runs {
            sizes,
            steps,
            indices,
            starts,
        }
    }

    /// Goes on to the next run; after the last to the first.
    pub fn advance(&mut self) {
        for i in (0..self.indices.len()).rev() {
            self.indices[i] += 1;
            let around = self.indices[i] == self.sizes[i];
            for (start, steps) in self.starts.iter_mut().zip(self.steps) {
                *start += steps[i];
                if around {
                    *start -= steps[i] * self.sizes[i];
                }
            }
            if !around {
                return;
            }
            self.indices[i] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From each run on, the next one begins where its own number says.
    #[test]
    fn each_run_begins_where_its_indices_say() {
        let (sizes, steps) = ([2, 3, 4], [[100, 20, 3], [7, 0, 50]]);
        let count: usize = sizes.iter().product();
        let starts = |run: usize| {
            let indices = [run / 12 % 2, run / 4 % 3, run % 4];
            steps.map(|steps| indices.iter().zip(steps).map(|(i, step)| i * step).sum())
        };
        let mut runs = Runs::at(0, &sizes, [&steps[0], &steps[1]]);
        for run in 0..=count {
            let want: [usize; 2] = starts(run % count);
            assert_eq!(runs.starts, want, "{run}");
            let here = Runs::at(run % count, &sizes, [&steps[0], &steps[1]]);
            assert_eq!(here.starts, want, "{run}");
            runs.advance();
        }
    }
}
