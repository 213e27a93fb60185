//! What a program is told when nobody answers what it asks, and whether the user is asked at all. Pure.

use super::waiting::Proof;

/// Refusals that a program is told by the end of its input; after the next one it is hung up.
const REFUSALS: usize = 3;
/// The same where it is not sure that it asks, of one line after the other that is the same: some are at work, and stand still at times.
const UNSURE_REFUSALS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Refusals {
    sure: usize,
    unsure: usize,
    /// The last one that was unsure.
    line: String,
    /// The surest.
    proof: Option<Proof>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    EndOfInput,
    HangUp,
    Nothing,
}

impl Refusals {
    /// Who has nothing to say to what only looks like a prompt is still asked what is more surely one.
    pub(super) fn may_ask(&self, proof: Proof) -> bool {
        self.proof.is_none_or(|refused| refused < proof)
    }

    pub(super) fn refuse(&mut self, line: &str, proof: Proof) -> Reply {
        self.proof = self.proof.max(Some(proof));
        let (count, most) = match proof {
            Proof::Seen => (&mut self.sure, REFUSALS),
            Proof::Listens | Proof::Guessed => {
                if self.line != line {
                    (self.line, self.unsure) = (line.to_owned(), 0);
                }
                (&mut self.unsure, UNSURE_REFUSALS)
            }
            // It is at work, and reads nothing.
            Proof::Doubtful => return Reply::Nothing,
        };
        *count += 1;
        if *count > most { Reply::HangUp } else { Reply::EndOfInput }
    }

    /// Somebody is there.
    pub(super) fn answered(&mut self) {
        self.unsure = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many refusals are told by the end of the input, and nothing but the next one by a hangup.
    #[track_caller]
    fn check(refusals: &mut Refusals, line: &str, proof: Proof, told: usize) {
        for at in 0..told {
            assert_eq!(refusals.refuse(line, proof), Reply::EndOfInput, "{at}");
        }
        assert_eq!(refusals.refuse(line, proof), Reply::HangUp);
    }

    #[test]
    fn c49_who_asks_again_and_again_is_hung_up_however_surely_it_asks() {
        check(&mut Refusals::default(), "Name?", Proof::Seen, REFUSALS);
        for proof in [Proof::Guessed, Proof::Listens] {
            check(&mut Refusals::default(), "Name?", proof, UNSURE_REFUSALS);
            let mut refusals = Refusals::default();
            for at in 0..10 * UNSURE_REFUSALS {
                assert_eq!(refusals.refuse(&format!("[==> ] foo({at})"), proof), Reply::EndOfInput, "it is at work");
            }
            check(&mut refusals, "Name?", proof, UNSURE_REFUSALS);
        }
        let mut refusals = Refusals::default();
        for _ in 0..10 * UNSURE_REFUSALS {
            assert_eq!(refusals.refuse("[==> ]", Proof::Doubtful), Reply::Nothing);
        }
    }

    #[test]
    fn c49_an_answer_is_a_sign_that_somebody_is_there() {
        let mut refusals = Refusals::default();
        for _ in 0..UNSURE_REFUSALS {
            assert_eq!(refusals.refuse("Name?", Proof::Guessed), Reply::EndOfInput);
        }
        refusals.answered();
        check(&mut refusals, "Name?", Proof::Guessed, UNSURE_REFUSALS);
    }

    #[test]
    fn c49_who_has_refused_is_asked_again_only_what_is_surer() {
        let proofs = [Proof::Doubtful, Proof::Guessed, Proof::Listens, Proof::Seen];
        for (at, refused) in proofs.into_iter().enumerate() {
            let mut refusals = Refusals::default();
            assert!(proofs.iter().all(|proof| refusals.may_ask(*proof)));
            refusals.refuse("Name?", refused);
            refusals.refuse("Name?", Proof::Doubtful);
            refusals.answered();
            let asked: Vec<_> = proofs.into_iter().filter(|proof| refusals.may_ask(*proof)).collect();
            assert_eq!(asked, proofs[at + 1..], "{refused:?}");
        }
    }
}
