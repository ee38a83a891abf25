//! File names in patches: quoting, prefixes, and names that lead out of the repository.

use std::fmt::Write as _;

use st_model::path::RepoPath;

/// Git's C-style quoting: names with control bytes, quotes, backslashes or bytes above 0x7f are
/// put in quotes with escapes, all others stay as they are.
pub(super) fn quote(prefix: &str, name: &[u8]) -> String {
    let plain = name.iter().all(|&byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\');
    let mut text = String::with_capacity(name.len() + prefix.len() + 2);
    if plain {
        text.push_str(prefix);
        text.extend(name.iter().map(|&byte| char::from(byte)));
        return text;
    }
    text.push('"');
    text.push_str(prefix);
    for &byte in name {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\r' => text.push_str("\\r"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            0x0b => text.push_str("\\v"),
            0x0c => text.push_str("\\f"),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text.push('"');
    text
}

/// Reads a quoted name at the start of `text`; gives the name and what follows the closing quote.
pub(super) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        match byte {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (&escape, tail) = rest.split_first()?;
                rest = tail;
                name.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let digits = rest.get(..2)?;
                        if !digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) {
                            return None;
                        }
                        rest = &rest[2..];
                        (escape - b'0') << 6 | (digits[0] - b'0') << 3 | (digits[1] - b'0')
                    }
                    _ => return None,
                });
            }
            _ => name.push(byte),
        }
    }
}

/// A name that stands alone on its line (`rename from …`): quoted or as it is.
pub(super) fn whole(text: &[u8]) -> Vec<u8> {
    match unquote(text) {
        Some((name, rest)) if rest.trim_ascii().is_empty() => name,
        _ => text.to_vec(),
    }
}

/// Whether a name in a `---` or `+++` line stands for no file.
pub(super) fn is_null(name: &[u8]) -> bool {
    name == b"/dev/null"
}

/// The two names of a `diff --git` line, prefixes and all.
pub(super) fn git_pair(rest: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if rest.starts_with(b"\"") {
        let (old, tail) = unquote(rest)?;
        return Some((old, whole(tail.strip_prefix(b" ")?)));
    }
    if rest.ends_with(b"\"") {
        // The second name starts at the first ` "`: an unquoted name holds no quote.
        let at = memchr::memmem::find(rest, b" \"")?;
        let (new, tail) = unquote(&rest[at + 1..])?;
        return tail.is_empty().then(|| (rest[..at].to_vec(), new));
    }
    // Both sides name the same file; a name may hold spaces, so the split is where they agree.
    let middle = rest.len() / 2;
    if rest.len() % 2 == 1 && rest[middle] == b' ' && same_file(&rest[..middle], &rest[middle + 1..]) {
        return Some((rest[..middle].to_vec(), rest[middle + 1..].to_vec()));
    }
    let mut splits = memchr::memchr_iter(b' ', rest).map(|at| (&rest[..at], &rest[at + 1..]));
    // Names of very different lengths have different prefixes: more than a few tries are not worth it.
    if let Some((old, new)) = splits.clone().take(64).find(|(old, new)| same_file(old, new)) {
        return Some((old.to_vec(), new.to_vec()));
    }
    // Different files without `rename from`: two files compared outside a repository.
    let (old, new) = splits.find(|(old, new)| mnemonic(old).is_some() && mnemonic(new).is_some())?;
    Some((old.to_vec(), new.to_vec()))
}

fn same_file(old: &[u8], new: &[u8]) -> bool {
    old == new || matches!((after_slash(old), after_slash(new)), (Some(a), Some(b)) if a == b && !a.is_empty())
}

fn after_slash(name: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b'/', name).map(|at| &name[at + 1..])
}

/// The name behind a one-letter prefix that git writes (`a/ b/`, and `i/ w/ c/ o/ 1/ 2/`).
pub(super) fn mnemonic(name: &[u8]) -> Option<&[u8]> {
    match name {
        [b'a' | b'b' | b'i' | b'w' | b'c' | b'o' | b'1' | b'2', b'/', rest @ ..] if !rest.is_empty() => Some(rest),
        _ => None,
    }
}

/// Takes the prefixes off a pair of names as they stand in a patch. `None` stands for no file.
///
/// Equal names have no prefix; names that differ in their first component only have one
/// (`a/x b/x`, `orig/x new/x`); absolute names are one file when they end alike.
pub(super) fn strip_pair(old: Option<&[u8]>, new: Option<&[u8]>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    match (old, new) {
        (Some(old), Some(new)) => {
            if old == new {
                return (Some(old.to_vec()), Some(new.to_vec()));
            }
            if let (Some(a), Some(b)) = (after_slash(old), after_slash(new))
                && a == b
                && !a.is_empty()
                && !old.starts_with(b"/")
                && !old.starts_with(b"..")
            {
                return (Some(a.to_vec()), Some(b.to_vec()));
            }
            if let (Some(a), Some(b)) = (mnemonic(old), mnemonic(new)) {
                return (Some(a.to_vec()), Some(b.to_vec()));
            }
            let shared = shared_tail(old, new);
            if !shared.is_empty() && old.len() != shared.len() && new.len() != shared.len() {
                return (Some(shared.to_vec()), Some(shared.to_vec()));
            }
            // `x.c.orig` and `x.c`: the new name is the file's.
            (Some(new.to_vec()), Some(new.to_vec()))
        }
        (Some(name), None) => (Some(mnemonic(name).unwrap_or(name).to_vec()), None),
        (None, Some(name)) => (None, Some(mnemonic(name).unwrap_or(name).to_vec())),
        (None, None) => (None, None),
    }
}

/// The components that both names end with.
fn shared_tail<'a>(old: &[u8], new: &'a [u8]) -> &'a [u8] {
    let mut end = 0;
    let mut length = 0;
    for (a, b) in old.rsplit(|&byte| byte == b'/').zip(new.rsplit(|&byte| byte == b'/')) {
        if a != b || matches!(a, b"" | b"." | b"..") {
            break;
        }
        length = end + b.len();
        end = length + 1;
    }
    &new[new.len() - length..]
}

/// The name in a `---` or `+++` line, without its timestamp, and the timestamp.
pub(super) fn dated(text: &[u8]) -> (Vec<u8>, &[u8]) {
    if text.starts_with(b"\"")
        && let Some((name, rest)) = unquote(text)
    {
        return (name, rest.trim_ascii());
    }
    if let Some(at) = memchr::memchr(b'\t', text) {
        return (text[..at].to_vec(), text[at + 1..].trim_ascii());
    }
    let at = stamp_start(text).unwrap_or(text.len());
    (text[..at].trim_ascii_end().to_vec(), text[at..].trim_ascii())
}

/// Where a date or a revision in brackets starts that is set off by blanks only.
fn stamp_start(text: &[u8]) -> Option<usize> {
    if text.ends_with(b")") {
        let at = memchr::memmem::rfind(text, b" (")?;
        let inside = &text[at + 2..];
        return [&b"revision "[..], b"working copy", b"nonexistent", b".../"].iter().any(|word| inside.starts_with(word)).then_some(at);
    }
    let date = |at: &usize| {
        let rest = text[*at..].trim_ascii_start();
        let digits = |from: usize, to: usize| rest.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
        let iso = digits(0, 4) && rest.get(4) == Some(&b'-') && digits(5, 7) && rest.get(7) == Some(&b'-') && digits(8, 10);
        let day = [&b"Mon "[..], b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "].iter().any(|day| rest.starts_with(day));
        (iso && rest.len() > 10 && rest[10] == b' ') || (day && memchr::memchr(b':', rest).is_some())
    };
    memchr::memchr_iter(b' ', text).take(4096).find(date)
}

/// Why a name can't be shown as a path of the repository.
pub(super) fn refused(name: &[u8]) -> Option<String> {
    let outside = || name.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b"..");
    match RepoPath::parse(name) {
        Err(error) => Some(error.to_string()),
        Ok(_) if outside() => Some("the path leaves the repository".into()),
        Ok(_) => None,
    }
}

/// A path to list `name` under in the ledger, whatever it is: a name that can't be a path is
/// escaped and put under `unsafe-name/`.
pub(super) fn ledger_path(name: &[u8]) -> Option<RepoPath> {
    if refused(name).is_none() {
        return RepoPath::parse(name).ok();
    }
    let mut safe = b"unsafe-name".to_vec();
    for part in name.split(|&byte| byte == b'/') {
        safe.push(b'/');
        match part {
            b"" => safe.extend_from_slice(b"%2F"),
            b"." => safe.extend_from_slice(b"%2E"),
            _ => {
                for (index, byte) in part.iter().enumerate() {
                    match byte {
                        0 => safe.extend_from_slice(b"%00"),
                        b'\\' => safe.extend_from_slice(b"%5C"),
                        b'.' if part.get(index + 1) == Some(&b'.') || index > 0 && part[index - 1] == b'.' => {
                            safe.extend_from_slice(b"%2E")
                        }
                        byte => safe.push(*byte),
                    }
                }
            }
        }
    }
    RepoPath::parse(&safe).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_git_line_splits_where_both_names_agree() {
        for (line, old, new) in [
            ("a/x b/x", "a/x", "b/x"),
            ("a/with space b/with space", "a/with space", "b/with space"),
            ("a/x b/x b/x b/x", "a/x b/x", "b/x b/x"),
            ("src/x src/x", "src/x", "src/x"),
            ("old/x newer/x", "old/x", "newer/x"),
            ("i/x w/x", "i/x", "w/x"),
            ("\"a/t\\tb\" \"b/t\\tb\"", "a/t\tb", "b/t\tb"),
            ("a/plain \"b/q\\\"\"", "a/plain", "b/q\""),
            ("a/old/x b/new/y", "a/old/x", "b/new/y"),
        ] {
            assert_eq!(git_pair(line.as_bytes()), Some((old.as_bytes().to_vec(), new.as_bytes().to_vec())), "{line}");
        }
        assert_eq!(git_pair(b"nothing"), None);
    }

    #[test]
    fn prefixes_come_off_in_pairs() {
        for (old, new, path) in [
            ("a/x", "b/x", "x"),
            ("x", "x", "x"),
            ("linux-6.1/fs/x.c", "linux/fs/x.c", "fs/x.c"),
            ("x.c.orig", "x.c", "x.c"),
            ("/home/u/old/src/x.c", "/home/u/new/src/x.c", "src/x.c"),
            ("../old/x.c", "../new/x.c", "x.c"),
            ("/etc/passwd", "/etc/passwd", "/etc/passwd"),
            ("a/old/x", "b/new/x", "new/x"),
        ] {
            let (_, got) = strip_pair(Some(old.as_bytes()), Some(new.as_bytes()));
            assert_eq!(got.as_deref(), Some(path.as_bytes()), "{old} {new}");
        }
    }

    #[test]
    fn timestamps_and_revisions_are_no_part_of_the_name() {
        for (text, name, stamp) in [
            ("a/x.c\t2024-01-01 10:00:00.000000000 +0100", "a/x.c", "2024-01-01 10:00:00.000000000 +0100"),
            ("x y.c\t(revision 12)", "x y.c", "(revision 12)"),
            ("x.c (working copy)", "x.c", "(working copy)"),
            ("x.c (copy)", "x.c (copy)", ""),
            ("x.c  2001-02-03 04:05:06", "x.c", "2001-02-03 04:05:06"),
            ("x.c Mon Jan  1 00:00:00 2001", "x.c", "Mon Jan  1 00:00:00 2001"),
            ("a/foo bar\t", "a/foo bar", ""),
            ("\"a/t\\tb\"", "a/t\tb", ""),
        ] {
            let (got, when) = dated(text.as_bytes());
            assert_eq!((got.as_slice(), when), (name.as_bytes(), stamp.as_bytes()), "{text}");
        }
    }

    #[test]
    fn an_unsafe_name_is_listed_and_names_nothing_outside() {
        for (name, path) in [
            ("../../etc/passwd", "unsafe-name/%2E%2E/%2E%2E/etc/passwd"),
            ("/etc/passwd", "unsafe-name/%2F/etc/passwd"),
            ("C:\\windows\\x", "unsafe-name/C:%5Cwindows%5Cx"),
            ("a\\..\\..\\x", "unsafe-name/a%5C%2E%2E%5C%2E%2E%5Cx"),
            ("a//b", "unsafe-name/a/%2F/b"),
            ("", "unsafe-name/%2F"),
            ("a\0b", "unsafe-name/a%00b"),
        ] {
            assert!(refused(name.as_bytes()).is_some(), "{name}");
            assert_eq!(ledger_path(name.as_bytes()).unwrap().lossy(), path);
        }
        assert_eq!(ledger_path(b"a\\b..c").unwrap().lossy(), "a\\b..c");
    }

    proptest! {
        #[test]
        fn quoting_comes_back(name in prop::collection::vec(any::<u8>(), 1..24)) {
            let quoted = quote("a/", &name);
            prop_assert!(quoted.is_ascii());
            prop_assert_eq!(whole(quoted.as_bytes()), [b"a/", name.as_slice()].concat());
        }

        #[test]
        fn every_name_has_a_place_in_the_ledger(name in prop::collection::vec(any::<u8>(), 0..24)) {
            prop_assert!(ledger_path(&name).is_some());
        }

        #[test]
        fn a_git_line_of_one_file_gives_its_name(name in "[a-z ./]{1,20}") {
            prop_assume!(!name.starts_with('/'));
            let line = format!("a/{name} b/{name}");
            let pair = git_pair(line.as_bytes());
            prop_assert_eq!(pair, Some((format!("a/{name}").into_bytes(), format!("b/{name}").into_bytes())));
        }
    }
}
