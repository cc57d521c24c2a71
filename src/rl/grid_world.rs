//! A world of fields.

use super::environment::{Environment, EnvironmentStep};
use crate::error::{problem, raise};
use crate::tensor::{Tensor, random_unit};

/// Fields in rows and columns, between which the agent moves: 0 up, 1 to the right, 2 down, 3 to the left. Against a wall or
/// the edge it stays where it is.
///
/// An observation is the index of the field, row by row, an integer `()`. The goal earns a reward of 1, a hole -1, and both
/// end the episode; other fields earn [`step_reward`](Self::step_reward).
///
/// ```
/// use taper::prelude::*;
/// use taper::rl::{Environment, GridWorld};
///
/// let mut world = GridWorld::new(&[
///     "S.#", // the start, a free field, a wall
///     "X.G", // a hole, a free field, the goal
/// ]);
/// assert_eq!(world.reset().item(), 0.0);
/// world.step(1);
/// world.step(2);
/// let step = world.step(1);
/// assert_eq!((step.observation.item(), step.reward, step.terminated), (5.0, 1.0, true));
/// ```
#[derive(Clone, Debug)]
pub struct GridWorld {
    rows: Vec<Vec<char>>,
    start: (usize, usize),
    place: (usize, usize),
    step_reward: f64,
    slip: f64,
    steps: usize,
    limit: usize,
}

impl GridWorld {
    /// Creates a world from its rows: `S` is the start, `G` a goal, `X` a hole, `#` a wall, and any other character a free
    /// field.
    ///
    /// # Panics
    /// If the rows have different lengths, or there is not exactly one start.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::rl::GridWorld;
    ///
    /// assert_eq!(GridWorld::new(&["S..", "..G"]).num_fields(), 6);
    /// assert!(attempt(|| GridWorld::new(&["..G"])).is_err());
    /// ```
    #[track_caller]
    pub fn new(rows: &[&str]) -> Self {
        let rows: Vec<Vec<char>> = rows.iter().map(|row| row.chars().collect()).collect();
        let fields = rows
            .iter()
            .enumerate()
            .flat_map(|(i, row)| (0..row.len()).map(move |j| (i, j)));
        let starts: Vec<(usize, usize)> = fields.filter(|(i, j)| rows[*i][*j] == 'S').collect();
        let is_rectangle = rows.iter().all(|row| row.len() == rows[0].len());
        let &[start] = &starts[..] else {
            raise(wrong(format!("{} starts", starts.len())))
        };
        if !is_rectangle {
            raise(wrong("rows of different lengths".to_owned()))
        }
        Self {
            rows,
            start,
            place: start,
            step_reward: 0.0,
            slip: 0.0,
            steps: 0,
            limit: 200,
        }
    }

    setters! {
        /// Sets the reward of a step to a free field; 0 by default. A negative reward favours short paths.
        ///
        /// ```
        /// use taper::rl::{Environment, GridWorld};
        ///
        /// let mut world = GridWorld::new(&["S.G"]).step_reward(-0.1);
        /// assert_eq!(world.step(1).reward, -0.1);
        /// ```
        pub fn step_reward(self, reward: f64): self.step_reward = reward;

        /// Sets the probability with which a step goes in a random direction instead; 0 by default.
        ///
        /// ```
        /// use taper::rl::GridWorld;
        ///
        /// let world = GridWorld::new(&["S.G"]).slip(0.2);
        /// ```
        pub fn slip(self, probability: f64): self.slip = probability;

        /// Sets after how many steps an episode is cut off; 200 by default.
        ///
        /// ```
        /// use taper::rl::{Environment, GridWorld};
        ///
        /// let mut world = GridWorld::new(&["S.G"]).max_steps(1);
        /// assert!(world.step(0).truncated);
        /// ```
        pub fn max_steps(self, steps: usize): self.limit = steps;
    }

    /// Returns the number of fields, walls included: the number of observations.
    ///
    /// ```
    /// use taper::rl::GridWorld;
    ///
    /// assert_eq!(GridWorld::new(&["S#G"]).num_fields(), 3);
    /// ```
    pub fn num_fields(&self) -> usize {
        self.rows.len() * self.rows[0].len()
    }

    fn observation(&self) -> Tensor {
        let index = self.place.0 * self.rows[0].len() + self.place.1;
        Tensor::from_vec(vec![index as i64], ())
    }

    /// Returns the field in a direction, or the same one.
    fn next(&self, direction: usize) -> (usize, usize) {
        let (row, column) = self.place;
        let next = match direction {
            0 => (row.wrapping_sub(1), column),
            1 => (row, column + 1),
            2 => (row + 1, column),
            _ => (row, column.wrapping_sub(1)),
        };
        let field = self.rows.get(next.0).and_then(|row| row.get(next.1));
        match field {
            None | Some('#') => self.place,
            Some(_) => next,
        }
    }
}

fn wrong(found: String) -> crate::error::Error {
    problem!(argument("GridWorld", found);
        "rows of the same length with one start, S",
        "Write the world as in GridWorld::new(&[\"S..\", \"..G\"])")
}

impl Environment for GridWorld {
    fn num_actions(&self) -> usize {
        4
    }

    fn reset(&mut self) -> Tensor {
        (self.place, self.steps) = (self.start, 0);
        self.observation()
    }

    fn step(&mut self, action: usize) -> EnvironmentStep {
        raise!(if action > 3; argument("GridWorld", action);
            "an action from 0 to 3", "0 is up, 1 right, 2 down, 3 left");
        let slips = self.slip > 0.0 && random_unit() < self.slip;
        let direction = match slips {
            true => (random_unit() * 4.0) as usize,
            false => action,
        };
        self.place = self.next(direction);
        self.steps += 1;
        let (reward, terminated) = match self.rows[self.place.0][self.place.1] {
            'G' => (1.0, true),
            'X' => (-1.0, true),
            _ => (self.step_reward, false),
        };
        EnvironmentStep {
            observation: self.observation(),
            reward,
            terminated,
            truncated: self.steps >= self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;

    #[test]
    fn walls_and_edges_stop() {
        let mut world = GridWorld::new(&["S#", "XG"]);
        world.reset();
        for action in [0, 1, 3] {
            assert_eq!(world.step(action).observation.item(), 0.0);
        }
        let step = world.step(2);
        assert_eq!((step.reward, step.terminated), (-1.0, true));
        let error = attempt(|| GridWorld::new(&["SS"])).unwrap_err();
        assert!(error.to_string().contains("found 2 starts"), "{error}");
        assert!(attempt(|| GridWorld::new(&["S", ".."])).is_err());
    }
}
