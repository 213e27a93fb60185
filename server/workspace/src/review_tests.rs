//! Hunks under edits of both authors and decisions of one.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

struct Text(Review, u64);

impl Text {
    fn new(text: &str) -> Self {
        Self(Review::new(Rope::from_str(text)), 0)
    }

    fn agent(&mut self, after: &str) {
        self.1 += 1;
        self.0.agent_edit(&Rope::from_str(after), self.1);
        sound(&self.0);
    }

    fn user(&mut self, after: &str) {
        self.0.user_edit(&Rope::from_str(after));
        sound(&self.0);
    }

    /// By its place among the undecided ones, from 0.
    fn id(&self, index: usize) -> HunkId {
        undecided(&self.0)[index].id
    }

    fn accept(&mut self, id: HunkId) {
        let before = self.0.now().clone();
        assert!(self.0.accept(id));
        assert_eq!(*self.0.now(), before);
        sound(&self.0);
    }

    fn reject(&mut self, id: HunkId) {
        let edits = self.0.rejection(&[id].into()).unwrap();
        let after = edits.apply(self.0.now()).unwrap();
        assert!(self.0.reject(id));
        assert_eq!(*self.0.now(), after);
        sound(&self.0);
    }

    /// The undecided hunks, `old>new` with `/` for line breaks.
    fn shown(&self) -> Vec<String> {
        let line = |text: &str| text.replace('\n', "/");
        undecided(&self.0).iter().map(|hunk| format!("{}>{}", line(&hunk.old), line(&hunk.new))).collect()
    }

    fn states(&self) -> Vec<HunkState> {
        self.0.hunks().iter().map(|hunk| hunk.state).collect()
    }

    fn now(&self) -> String {
        self.0.now().to_string()
    }
}

fn undecided(review: &Review) -> Vec<ReviewedHunk> {
    review.hunks().into_iter().filter(|hunk| hunk.state == HunkState::Undecided).collect()
}

/// The base with all hunks is the present text, hunks are whole lines in their order, and no two have one id.
fn sound(review: &Review) {
    let (base, now) = (review.base().to_string(), review.now().to_string());
    let mut made = String::new();
    let (mut in_base, mut in_now) = (0, 0);
    let mut ids = BTreeSet::new();
    for hunk in review.hunks() {
        assert!(hunk.base.end <= base.len() && hunk.now.end <= now.len(), "{hunk:?}");
        if hunk.state != HunkState::Undecided {
            continue;
        }
        assert!(ids.insert(hunk.id), "two hunks have one id");
        assert!(hunk.id.0 < 1 << 53);
        assert!(!hunk.changes.is_empty());
        made.push_str(&base[in_base..hunk.base.start]);
        assert_eq!(made.len(), hunk.now.start);
        assert_eq!(base[in_base..hunk.base.start], now[in_now..hunk.now.start]);
        assert_eq!((&base[hunk.base.clone()], &now[hunk.now.clone()]), (&*hunk.old, &*hunk.new));
        assert_ne!(hunk.old, hunk.new);
        for (text, range) in [(&base, &hunk.base), (&now, &hunk.now)] {
            assert!(range.start == 0 || text[..range.start].ends_with('\n'), "{hunk:?} of {text:?}");
            assert!(range.end == text.len() || range.is_empty() || text[..range.end].ends_with('\n'));
        }
        made.push_str(&hunk.new);
        (in_base, in_now) = (hunk.base.end, hunk.now.end);
    }
    made.push_str(&base[in_base..]);
    assert_eq!(made, now);
}

#[test]
fn c19_hunks_are_decided_one_at_a_time() {
    let mut text = Text::new("a\nb\nc\nd\ne\nf\n");
    text.agent("a\n1\n2\n3\n4\n5\nb\nc\nD\ne\nF\n");
    assert_eq!(text.shown(), [">1/2/3/4/5/", "d/>D/", "f/>F/"]);
    let ids = [0, 1, 2].map(|index| text.id(index));
    text.accept(ids[0]);
    text.accept(ids[2]);
    assert_eq!(text.0.base().to_string(), "a\n1\n2\n3\n4\n5\nb\nc\nd\ne\nF\n");
    assert_eq!((text.shown(), text.id(0)), (vec!["d/>D/".to_owned()], ids[1]));
    text.reject(ids[1]);
    assert_eq!(text.now(), "a\n1\n2\n3\n4\n5\nb\nc\nd\ne\nF\n");
    assert_eq!(text.states(), [HunkState::Accepted, HunkState::Rejected, HunkState::Accepted]);
}

#[test]
fn c19_a_rejected_hunk_that_added_lines_moves_no_text_of_others() {
    let mut text = Text::new("a\nb\nc\nd\ne\nf\n");
    text.agent("a\n1\n2\n3\n4\n5\nb\nc\nD\ne\nF\n");
    let ids = [0, 1, 2].map(|index| text.id(index));
    text.reject(ids[0]);
    assert_eq!(text.now(), "a\nb\nc\nD\ne\nF\n");
    text.accept(ids[2]);
    text.reject(ids[1]);
    assert_eq!(text.now(), "a\nb\nc\nd\ne\nF\n");
}

#[test]
fn r4_2_ids_stay_while_both_write_elsewhere() {
    let mut text = Text::new("a\nb\nc\nd\ne\n");
    text.agent("a\nB\nc\nd\ne\n");
    let id = text.id(0);
    text.user("x\na\nB\nc\nd\ne\n");
    assert_eq!((text.shown(), text.id(0)), (vec!["b/>B/".to_owned()], id));
    text.agent("x\nnew\na\nB\nc\nd\nE\n");
    assert_eq!(text.shown(), [">new/", "b/>B/", "e/>E/"]);
    assert_eq!(text.id(1), id);
    assert_eq!(text.0.base().to_string(), "x\na\nb\nc\nd\ne\n");
}

#[test]
fn hunks_that_become_one_keep_the_older_id() {
    let mut text = Text::new("a\nb\nc\nd\n");
    text.agent("a\nb\nC\nd\n");
    let id = text.id(0);
    text.agent("a\nB\nC\nd\n");
    assert_eq!((text.shown(), text.id(0)), (vec!["b/c/>B/C/".to_owned()], id));
    assert_eq!(undecided(&text.0)[0].changes, [1, 2]);
}

#[test]
fn a_hunk_that_falls_apart_keeps_its_id_in_front() {
    let mut text = Text::new("a\nb\nc\n");
    text.agent("A\nB\nC\n");
    let id = text.id(0);
    text.agent("A\nb\nC\n");
    assert_eq!((text.shown(), text.id(0)), (vec!["a/>A/".to_owned(), "c/>C/".to_owned()], id));
    assert_ne!(text.id(1), id);
}

#[test]
fn what_the_agent_takes_back_itself_is_no_hunk() {
    let mut text = Text::new("a\nb\n");
    text.agent("a\nB\n");
    text.agent("a\nb\n");
    assert_eq!(text.states(), []);
}

#[test]
fn the_users_lines_in_an_added_block_are_his() {
    let mut text = Text::new("a\nz\n");
    text.agent("a\n1\n2\n3\n4\n5\nz\n");
    let id = text.id(0);
    text.user("a\n1\n2\nuser\n3\n4\n5\nz\n");
    assert_eq!((text.shown(), text.id(0)), (vec![">1/2/".to_owned(), ">3/4/5/".to_owned()], id));
    let second = text.id(1);
    // Seen with one more of his lines: the parts that he leaves alone are the same.
    text.user("a\n1\nuser\n2\nuser\n3\n4\n5\nz\n");
    assert_eq!((text.id(0), text.id(2)), (id, second));
    text.reject(id);
    text.reject(second);
    assert_eq!(text.now(), "a\nuser\n2\nuser\nz\n");
}

#[test]
fn parts_have_the_same_ids_however_often_the_text_was_looked_at() {
    let (typed, more) = ("a\n1\n2\n3\nuser\n4\nz\n", "a\n1\nuser\n2\n3\nuser\n4\nz\n");
    let mut twice = Text::new("a\nz\n");
    twice.agent("a\n1\n2\n3\n4\nz\n");
    let mut once = Text(twice.0.clone(), 1);
    twice.user(typed);
    once.user(more);
    assert_eq!(once.id(2), twice.id(1));
}

#[test]
fn c31_what_the_user_has_overwritten_is_outdated() {
    let mut text = Text::new("a\nb\nc\n");
    text.agent("a\nB\nc\n");
    let id = text.id(0);
    text.user("a\nmine\nc\n");
    assert_eq!(text.0.state(id), Some(HunkState::Outdated));
    assert!(!text.0.accept(id) && !text.0.reject(id));
    assert!(text.0.rejection(&[id].into()).unwrap().is_empty());
    let hunk = &text.0.hunks()[0];
    assert_eq!(
        (&*hunk.old, &*hunk.new, text.0.now().byte_slice(hunk.now.clone()).to_string()),
        ("b\n", "B\n", "mine\n".to_owned())
    );
}

#[test]
fn what_the_user_restores_is_no_hunk_and_comes_back_with_it() {
    let mut text = Text::new("a\nb\nc\n");
    text.agent("a\nB\nc\n");
    let seen = text.0.clone();
    text.user("a\nb\nc\n");
    assert_eq!(text.states(), []);
    let mut again = Text(seen, 1);
    again.user("a\nB\nc\n");
    assert_eq!(again.shown(), ["b/>B/"]);
}

#[test]
fn lines_that_the_user_deletes_of_an_added_block_are_gone() {
    let mut text = Text::new("a\nz\n");
    text.agent("a\n1\n2\n3\nz\n");
    text.user("a\n1\n3\nz\n");
    assert_eq!(text.shown(), [">1/3/"]);
    text.user("a\nz\n");
    assert_eq!(text.states(), []);
}

#[test]
fn typing_beside_a_hunk_leaves_it_alone() {
    let mut text = Text::new("a\nb\nc\n");
    text.agent("a\nB\nc\n");
    text.user("a\nabove\nB\nbelow\nc\n");
    assert_eq!(text.shown(), ["b/>B/"]);
    text.reject(text.id(0));
    assert_eq!(text.now(), "a\nabove\nb\nbelow\nc\n");
    let mut text = Text::new("a\nb\nc\n");
    text.agent("a\nc\n");
    text.user("a\nhere\nc\n");
    text.reject(text.id(0));
    assert_eq!(text.now(), "a\nb\nhere\nc\n");
}

#[test]
fn a_last_line_without_a_break_is_not_joined_with_what_follows() {
    let mut text = Text::new("x");
    text.agent("x\ny\n");
    text.user("x\ny\nuser\n");
    assert_eq!(text.states(), [HunkState::Outdated]);
    let mut text = Text::new("a\nb\n");
    text.agent("a\n");
    text.user("a");
    assert_eq!(text.states(), [HunkState::Outdated]);
    assert_eq!(text.0.base().to_string(), "a");
}

#[test]
fn what_was_undone_is_gone_and_what_was_accepted_before_is_no_new_hunk() {
    let mut text = Text::new("a\nb\nc\nd\ne\n");
    text.agent("a\nB\nc\nD\ne\n");
    text.accept(text.id(1));
    text.0.taken_back(&Rope::from_str("a\nb\nc\nd\ne\n"), 2);
    sound(&text.0);
    assert_eq!(text.states(), [HunkState::Accepted]);
    assert_eq!(text.0.base().to_string(), "a\nb\nc\nd\ne\n");
}

#[test]
fn line_breaks_of_all_kinds_are_kept_whole() {
    let mut text = Text(Review::new(Rope::from_str("a\r\nb\rc\n")), 0);
    text.0.agent_edit(&Rope::from_str("a\r\nB\rc\n"), 1);
    assert_eq!(undecided(&text.0)[0].old, "b\r");
    let id = text.id(0);
    let edits = text.0.rejection(&[id].into()).unwrap();
    assert_eq!(edits.apply(text.0.now()).unwrap().to_string(), "a\r\nb\rc\n");
}

#[derive(Debug, Clone)]
enum Step {
    Agent(Change),
    User(Change),
    Undo(Change),
    Accept(prop::sample::Index),
    Reject(prop::sample::Index),
}

/// Lines from the first index to the second become those in the list.
type Change = (prop::sample::Index, prop::sample::Index, Vec<String>);

fn change() -> impl Strategy<Value = Change> {
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::collection::vec("[a-d]", 0..4))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => change().prop_map(Step::Agent),
        3 => change().prop_map(Step::User),
        1 => change().prop_map(Step::Undo),
        1 => any::<prop::sample::Index>().prop_map(Step::Accept),
        2 => any::<prop::sample::Index>().prop_map(Step::Reject),
    ];
    prop::collection::vec(step, 0..12)
}

/// A list of three lines also takes the last line its break, or gives it one.
fn changed(text: &str, (from, to, lines): &Change, mark: Option<&mut usize>) -> String {
    let mut all: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let (from, to) = (from.index(all.len() + 1), to.index(all.len() + 1));
    let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 3));
    let new: Vec<String> = match mark {
        // The user's lines are told from all others, and from each other.
        Some(mark) => lines
            .iter()
            .map(|_| {
                *mark += 1;
                format!("user {mark}\n")
            })
            .collect(),
        None => lines.iter().map(|line| format!("{line}\n")).collect(),
    };
    all.splice(from..to, new);
    let mut after = all.concat();
    let has_break = text.is_empty() || text.ends_with('\n');
    if has_break == (lines.len() == 3) && !after.is_empty() {
        after.pop();
    }
    after
}

fn users(text: &Rope) -> BTreeSet<String> {
    let text = text.to_string();
    text.lines().filter(|line| line.contains("user")).map(str::to_owned).collect()
}

fn all_but(review: &Review, id: HunkId) -> Vec<(HunkId, String, String)> {
    undecided(review).into_iter().filter(|hunk| hunk.id != id).map(|hunk| (hunk.id, hunk.old, hunk.new)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn r4_2_hunks_are_sound_whatever_happens(base in prop::collection::vec("[a-d]", 0..10), steps in steps()) {
        let base: String = base.iter().map(|line| format!("{line}\n")).collect();
        let mut review = Review::new(Rope::from_str(&base));
        let mut replayed = review.clone();
        let mut typed = 0;
        // The user's lines that the agent has put elsewhere: by a comparison of lines they are its own.
        let mut moved = BTreeSet::new();
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u64 + 1;
            let now = review.now().to_string();
            let hunks = undecided(&review);
            let pick = |index: &prop::sample::Index| (!hunks.is_empty()).then(|| index.get(&hunks).id);
            match &step {
                Step::Agent(change) => {
                    let after = Rope::from(changed(&now, change, None));
                    review.agent_edit(&after, number);
                    replayed.agent_edit(&after, number);
                    prop_assert_eq!(review.now(), &after);
                }
                Step::Undo(change) => {
                    let after = Rope::from(changed(&now, change, None));
                    review.taken_back(&after, number);
                    replayed.taken_back(&after, number);
                    prop_assert_eq!(review.now(), &after);
                }
                Step::User(change) => {
                    let after = Rope::from(changed(&now, change, Some(&mut typed)));
                    review.user_edit(&after);
                    replayed.user_edit(&after);
                    prop_assert_eq!(review.now(), &after);
                    // What he did not touch is what it was.
                    let edits: Vec<_> = changed_lines(&Rope::from_str(&now), &after);
                    for hunk in &hunks {
                        let is_far = edits.iter().all(|edit| edit.old.end < hunk.now.start || hunk.now.end < edit.old.start);
                        if is_far {
                            let found = undecided(&review).into_iter().find(|now| now.id == hunk.id).unwrap();
                            prop_assert_eq!((&found.old, &found.new), (&hunk.old, &hunk.new));
                        }
                    }
                }
                Step::Accept(index) => {
                    let Some(id) = pick(index) else { continue };
                    let others = all_but(&review, id);
                    prop_assert!(review.accept(id));
                    replayed.accept(id);
                    prop_assert_eq!(review.now().to_string(), now);
                    prop_assert_eq!(all_but(&review, id), others);
                    prop_assert_eq!(review.state(id), Some(HunkState::Accepted));
                }
                Step::Reject(index) => {
                    let Some(id) = pick(index) else { continue };
                    let hunk = hunks.iter().find(|hunk| hunk.id == id).unwrap();
                    let (others, base) = (all_but(&review, id), review.base().clone());
                    let expected = format!("{}{}{}", &now[..hunk.now.start], hunk.old, &now[hunk.now.end..]);
                    let edits = review.rejection(&[id].into()).unwrap();
                    prop_assert_eq!(edits.apply(review.now()).unwrap().to_string(), expected.clone());
                    let kept = &users(&Rope::from_str(&now)) - &moved;
                    prop_assert!(kept.is_subset(&users(&Rope::from_str(&expected))));
                    prop_assert!(review.reject(id));
                    replayed.reject(id);
                    prop_assert_eq!(review.now().to_string(), expected);
                    prop_assert_eq!(review.base(), &base);
                    prop_assert_eq!(all_but(&review, id), others);
                    prop_assert_eq!(review.state(id), Some(HunkState::Rejected));
                }
            }
            if let Step::Agent(_) | Step::Undo(_) = step {
                moved.extend(undecided(&review).iter().flat_map(|hunk| users(&Rope::from_str(&hunk.new))));
            }
            sound(&review);
            prop_assert_eq!(review.hunks(), replayed.hunks());
        }
        // Nothing of the user's is in what may still be rejected, and all of it is in the base.
        prop_assert!((&users(review.now()) - &moved).is_subset(&users(review.base())));
        let all: Vec<HunkId> = undecided(&review).iter().map(|hunk| hunk.id).collect();
        let after = review.rejection(&all.iter().copied().collect()).unwrap().apply(review.now()).unwrap();
        prop_assert_eq!(&after, review.base());
        for id in all {
            prop_assert!(review.accept(id));
        }
        prop_assert_eq!(review.base(), review.now());
        prop_assert!(review.is_decided());
    }
}
