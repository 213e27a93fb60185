//! Letters of short options, a program a row: what stands behind one in a cluster is another option, or its value. The only place that says so, for all
//! that is asked of these programs; after their manuals.

use super::remote::CONTAINERS;

/// As for getopt: `:` behind a letter that takes a value. Letters that are not here take none.
const LETTERS: &[(&[&str], &str)] = &[
    (&["apt", "apt-get"], "c:o:t:"),
    (&["bison", "yacc"], "b:D:F:L:o:p:S:"),
    (&["csplit"], "b:f:n:"),
    (&["curl"], "A:b:C:c:D:d:e:E:F:H:h:K:m:o:P:Q:r:t:T:u:U:w:x:X:y:Y:z:"),
    (CONTAINERS, "a:c:e:f:H:h:l:m:n:p:s:u:v:w:"),
    (&["fd", "fdfind"], "c:d:E:e:j:o:S:t:"),
    (&["flex"], "C:D:o:P:S:"),
    // Their options of one dash are words: whatever a letter begins is its value.
    (
        &["gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "as", "rustc", "tsc", "pandoc", "dot"],
        "a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q:r:s:t:u:v:w:x:y:z:A:B:C:D:E:F:G:H:I:J:K:L:M:N:O:P:Q:R:S:T:U:V:W:X:Y:Z:",
    ),
    (&["gdb", "lldb"], "b:c:d:l:o:p:s:x:"),
    (&["gpg", "gpg2"], "N:o:p:r:R:u:z:"),
    (&["julia"], "C:e:E:H:J:L:m:O:p:t:"),
    (&["helm"], "d:f:l:n:o:"),
    (&["less", "more", "most"], "b:D:h:j:k:o:O:p:P:t:T:x:y:z:#:"),
    (&["lua", "luajit"], "b:e:j:l:"),
    (&["make", "gmake"], "C:E:f:I:j:l:o:W:"),
    (&["man"], "C:E:e:H:L:M:m:P:p:r:R:S:s:T:"),
    (&["mysql", "mariadb"], "D:e:h:p:P:S:u:"),
    (&["mysqldump", "mariadb-dump"], "h:p:P:r:S:T:u:w:"),
    (&["nano", "pico"], "C:f:o:Q:r:s:T:Y:"),
    (&["nc", "ncat", "netcat"], "c:e:g:G:i:I:m:M:o:O:p:P:q:s:T:V:w:W:x:X:"),
    (&["node", "nodejs", "ts-node", "tsx"], "C:e:p:r:"),
    (&["patch"], "B:d:D:F:g:i:o:p:r:V:Y:z:"),
    (&["perl"], "C:D:e:E:F:i:I:m:M:x:0:"),
    (&["pg_dump", "pg_dumpall"], "d:e:E:f:F:h:j:n:N:p:S:t:T:U:Z:"),
    (&["php"], "B:c:d:E:f:F:r:R:S:t:z:"),
    (&["pip", "pip3"], "b:c:C:d:e:f:i:r:t:w:"),
    (&["psql"], "c:d:f:F:h:L:o:p:P:R:T:U:v:"),
    (&["python", "pypy"], "c:m:Q:W:X:"),
    (&["redis-cli", "valkey-cli"], "a:d:D:h:i:n:p:r:s:t:u:X:"),
    (&["rpm", "rpmbuild"], "D:E:"),
    (&["rsync"], "B:e:f:M:T:"),
    (&["ruby"], "C:e:E:F:i:I:K:r:T:W:x:"),
    (&["scp", "sftp"], "b:c:D:F:i:J:l:o:P:S:X:"),
    (&["sdiff"], "I:o:w:W:"),
    (&["shuf"], "e:i:n:o:"),
    (&["ssh"], SSH),
    (&["ssh-keygen", "ssh-add"], "b:C:D:f:I:N:P:s:t:"),
    (&["strip", "objcopy"], "b:B:F:G:i:I:K:L:N:o:O:R:W:"),
    (&["tar", "bsdtar", "gtar"], "b:C:f:F:g:H:I:K:L:N:T:V:X:"),
    (&["unzip"], "d:P:x:"),
    (&["vi", "vim", "nvim", "view", "gvim", "vimdiff", "rvim"], "c:i:r:s:S:t:T:u:U:w:W:"),
    (&["zip"], "b:n:O:P:s:t:Z:"),
    (&["wget"], "a:A:B:D:e:i:I:l:o:O:P:Q:R:t:T:U:w:X:Y:"),
];

/// All of them: others are not understood.
pub(super) const SSH: &str = "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:";

/// Whether what stands behind `letter` in a cluster of options is its value.
pub(super) fn takes_value(program: &str, letter: char) -> bool {
    let row = LETTERS.iter().find(|(programs, _)| programs.contains(&program));
    row.is_some_and(|(_, letters)| {
        letters.match_indices(letter).any(|(at, _)| letters[at + letter.len_utf8()..].starts_with(':'))
    }) && letter != ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_1_each_program_has_one_row_of_letters_each_letter_once() {
        let mut seen = Vec::new();
        for (programs, letters) in LETTERS {
            for program in *programs {
                assert!(!seen.contains(program), "{program}");
                seen.push(program);
            }
            let plain: Vec<char> = letters.chars().filter(|letter| *letter != ':').collect();
            let distinct: std::collections::BTreeSet<&char> = plain.iter().collect();
            assert_eq!(plain.len(), distinct.len(), "{programs:?}: {letters}");
        }
    }

    #[test]
    fn r8_1_letters_with_and_without_values_are_told_apart() {
        assert!(takes_value("ssh", 'o') && !takes_value("ssh", '4') && !takes_value("ssh", ':'));
        assert!(!takes_value("nc", 'k') && !takes_value("unknown", 'o') && takes_value("gcc", 'I'));
    }
}
