//! What variables of a text are known to hold, and how much of it is looked at. Shared where it stays as it is: each statement has a scope of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::expansion::Expanded;

/// Of further ones nothing is known.
const MOST_VARIABLES: usize = 256;
/// Characters of all values that stand in words of one text. Each `$x` could give as many as the text has.
const MOST_CHARACTERS: usize = 128 * 1024;

/// Each with all its possible values.
#[derive(Debug, Clone)]
pub(super) struct Variables {
    all: Rc<BTreeMap<String, Rc<[Expanded]>>>,
    characters_left: Rc<Cell<usize>>,
}

impl Variables {
    pub(super) fn new(home: Expanded) -> Self {
        let all: BTreeMap<String, Rc<[Expanded]>> = [("HOME".to_owned(), Rc::from([home]))].into();
        Self { all: Rc::new(all), characters_left: Rc::new(Cell::new(MOST_CHARACTERS)) }
    }

    pub(super) fn get(&self, name: &str) -> Option<&[Expanded]> {
        self.all.get(name).map(|values| &**values)
    }

    pub(super) fn insert(&mut self, name: &str, values: Vec<Expanded>) {
        if self.all.len() < MOST_VARIABLES || self.all.contains_key(name) {
            Rc::make_mut(&mut self.all).insert(name.to_owned(), values.into());
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if self.all.contains_key(name) {
            Rc::make_mut(&mut self.all).remove(name);
        }
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        if !self.all.keys().all(|name| is_kept(name)) {
            Rc::make_mut(&mut self.all).retain(|name, _| is_kept(name));
        }
    }

    /// What both hold alike.
    pub(super) fn in_common(&mut self, other: &Self) {
        if Rc::ptr_eq(&self.all, &other.all) {
            return;
        }
        let is_same = |name: &str, values: &Rc<[Expanded]>| {
            other.all.get(name).is_some_and(|others| Rc::ptr_eq(values, others) || values == others)
        };
        if !self.all.iter().all(|(name, values)| is_same(name, values)) {
            Rc::make_mut(&mut self.all).retain(|name, values| is_same(name, values));
        }
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.characters_left.get() == 0
    }

    /// Whether so many characters more of values may be looked at.
    pub(super) fn takes(&self, characters: usize) -> bool {
        let left = self.characters_left.get().checked_sub(characters);
        self.characters_left.set(left.unwrap_or_default());
        left.is_some()
    }
}
