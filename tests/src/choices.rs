//! Choices that a generator makes: drawn from a seed, or played again from what was drawn. Lesser choices make simpler things, so that a list of choices can be
//! shrunk without knowing what is made of it.

/// Draws choices, and keeps account of them.
pub struct Choices {
    drawn: Vec<u32>,
    source: Source,
}

enum Source {
    Seed(u64),
    /// What was drawn before; behind its end everything is the least.
    Again(Vec<u32>),
}

impl Choices {
    pub fn from_seed(seed: u64) -> Self {
        Self { drawn: Vec::new(), source: Source::Seed(seed) }
    }

    pub fn again(choices: &[u32]) -> Self {
        Self { drawn: Vec::new(), source: Source::Again(choices.to_vec()) }
    }

    pub fn drawn(self) -> Vec<u32> {
        self.drawn
    }

    /// One of `0..count`. `count` is not 0.
    pub fn below(&mut self, count: u32) -> u32 {
        let choice = match &mut self.source {
            Source::Seed(state) => {
                // SplitMix64, by Guy Steele, Doug Lea and Christine Flood.
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut mixed = *state;
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                ((mixed ^ (mixed >> 31)) % u64::from(count)) as u32
            }
            Source::Again(choices) => choices.get(self.drawn.len()).map_or(0, |choice| *choice.min(&(count - 1))),
        };
        self.drawn.push(choice);
        choice
    }

    /// True once in `count`.
    pub fn rarely(&mut self, count: u32) -> bool {
        self.below(count) + 1 == count
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }
}

/// The simplest choices found for which `fails` still holds, by leaving choices out and making them less.
pub fn shrink(mut choices: Vec<u32>, mut fails: impl FnMut(&[u32]) -> bool) -> Vec<u32> {
    let mut tries = 3_000;
    let mut is_new = true;
    while is_new && tries > 0 {
        is_new = false;
        let mut attempt = |candidate: Vec<u32>, choices: &mut Vec<u32>| {
            tries -= 1;
            let better = tries > 0 && candidate != *choices && fails(&candidate);
            if better {
                *choices = candidate;
            }
            better
        };
        for length in [32, 8, 4, 2, 1] {
            let mut at = 0;
            while at < choices.len() {
                let end = (at + length).min(choices.len());
                let without = [&choices[..at], &choices[end..]].concat();
                let mut none = choices.clone();
                none[at..end].fill(0);
                if attempt(without, &mut choices) || attempt(none, &mut choices) {
                    is_new = true;
                } else {
                    at += length;
                }
            }
        }
    }
    choices
}
