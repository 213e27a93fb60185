//! The outline of a body that is too long to be held, read off while it is skipped: enough to answer it, never what it says.

/// Longest `id` or `method` that is kept, in bytes; a longer one counts as absent.
const MAX_KEPT: usize = 1024;

/// The members of the outermost object as they are written, and whether they came at all. Of bytes that are no JSON it says something or nothing, never fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skim {
    /// JSON, as it was written.
    pub(crate) id: Option<Vec<u8>>,
    /// JSON, as it was written.
    pub(crate) method: Option<Vec<u8>>,
    /// A member `result` or `error` came.
    pub(crate) answers: bool,
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The last key of the outermost object, up to one byte more than the longest that matters.
    key: Vec<u8>,
    place: Place,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Key,
    Value,
}

impl Skim {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.byte(byte);
        }
    }

    /// Bytes that it holds.
    pub(super) fn held(&self) -> usize {
        self.key.len() + [&self.id, &self.method].into_iter().flatten().map(Vec::len).sum::<usize>()
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.place == Place::Key {
                    self.key.clear();
                }
                self.keep(byte);
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 1 => {
                self.place = Place::Key;
                self.key.clear();
            }
            b':' if self.depth == 1 => self.begin_value(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn begin_value(&mut self) {
        self.place = Place::Value;
        match self.key.as_slice() {
            br#""id""# => self.id = Some(Vec::new()),
            br#""method""# => self.method = Some(Vec::new()),
            br#""result""# | br#""error""# => self.answers = true,
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        const LONGEST_KEY: usize = br#""method""#.len();
        if self.depth != 1 {
            return;
        }
        if self.place == Place::Key {
            if self.key.len() <= LONGEST_KEY {
                self.key.push(byte);
            }
            return;
        }
        let kept = match self.key.as_slice() {
            br#""id""# => &mut self.id,
            br#""method""# => &mut self.method,
            _ => return,
        };
        match kept {
            Some(bytes) if bytes.len() < MAX_KEPT => bytes.push(byte),
            _ => *kept = None,
        }
    }
}
