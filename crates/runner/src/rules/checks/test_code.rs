//! What a change does to the tests: assertions and tests that went away or became weaker.

use std::sync::LazyLock;

use regex::Regex;
use st_model::change::{ChangeStatus, LineKind};
use st_model::finding::Side;

use crate::rules::view::{FileView, Place, Remark};

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("BUG: constant pattern"));
    };
}

pattern!(
    ASSERTION,
    r"(?x) \b(?:debug_)?assert(?:_\w+)?!\s*[\(\[{] | ^\s*assert\s | \bself\.assert\w+\( | \b[Aa]ssert(?:\.\w+)*\.\w+\( | \bassert[A-Z]\w*\( |
        \bassert\( | \bexpect\([^;]*\)\s*(?:\.|$) | \bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\( | \b(?:require|assert)\.[A-Z]\w+\( |
        \b(?:EXPECT|ASSERT)_[A-Z_]+\( | \.should(?:\.|\s|\() | \bverify\( | \bpytest\.raises\("
);

pattern!(
    STRONG,
    r"(?x) \bassert_(?:eq|ne)!|\bassert_matches!|\.toEqual\(|\.toBe\((?:[^)]*[^)\s])|\.toStrictEqual\(|\.toMatchObject\(|\bassert(?:Equals|Same|Equal|ListEqual|DictEqual|ItemsEqual|ArrayEquals|Iterable\w*)\(|
        \bAssert\.(?:AreEqual|Equal|Same|AreSame)\(|\b(?:require|assert)\.(?:Equal|EqualValues|JSONEq|ElementsMatch)\(|\bassert_equal\b|\.to\s+eq\b|\bassert\s+[^,]+==|\b(?:EXPECT|ASSERT)_(?:EQ|STREQ)\("
);

pattern!(
    WEAK,
    r"(?x) \bassert!\([^;]*(?:is_ok|is_some|is_err|is_none|is_empty)\(\)|\.toBeDefined\(|\.toBeTruthy\(|\.not\.toBeNull\(|\.not\.toThrow\(|\.toHaveBeenCalled\(\)|\bassert(?:NotNull|IsNotNone|True|DoesNotThrow)\(|
        \bAssert\.(?:IsNotNull|NotNull|IsTrue|True)\(|\b(?:require|assert)\.(?:NotNil|NotEmpty|NoError|True)\(|\bassert_not_nil\b|\bassert\s+(?:True|[\w.]+\s+is\s+not\s+None|[\w.]+)\s*$|\b(?:EXPECT|ASSERT)_(?:TRUE|NE)\("
);

pattern!(
    TEST_HEAD,
    r"(?x) ^\s*\#\[(?:tokio::|async_std::|sqlx::)?test\b | ^\s*(?:async\s+)?def\s+test_\w+ | ^\s*(?:it|test)\(\s*['\x22`] | ^\s*func\s+Test[A-Z]\w*\( |
        ^\s*@Test\b | ^\s*\[(?:Fact|Test|TestMethod|Theory)\b | ^\s*(?:public\s+)?function\s+test\w+\( | ^\s*TEST(?:_F|_P)?\( | ^\s*it\s+['\x22]"
);

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['/', '*']) || line.trim_start().starts_with("# ")
}

/// Whether the lines of a side are tests: the file's name, or (Rust) a test attribute in sight.
fn in_tests(file: &FileView<'_>) -> bool {
    file.is_test || file.old.as_ref().is_some_and(|side| side.text().contains("#[cfg(test)]") || side.text().contains("#[test]"))
}

fn changed_matching<'a>(file: &'a FileView<'_>, side: Side, pattern: &'a Regex) -> Vec<(u32, &'a str)> {
    let Some(view) = file.side(side) else { return Vec::new() };
    view.changed_lines().filter(|(_, line)| !is_comment(line) && pattern.is_match(line)).collect()
}

pub(crate) fn removed_assertion(file: &FileView<'_>) -> Vec<Remark> {
    if !in_tests(file) || file.change.status == ChangeStatus::Deleted {
        return Vec::new();
    }
    // In a Rust file with code and tests, only what stands below the test module's head counts.
    let tests_from = file.old.as_ref().filter(|_| !file.is_test).and_then(|side| {
        side.known_lines().find(|(_, line)| line.contains("#[cfg(test)]") || line.contains("#[test]")).map(|(number, _)| number)
    });
    let removed: Vec<(u32, &str)> = changed_matching(file, Side::Old, &ASSERTION)
        .into_iter()
        .filter(|(number, _)| file.is_test || tests_from.is_some_and(|from| *number > from))
        .collect();
    let added = changed_matching(file, Side::New, &ASSERTION);
    // A whole test that went away is another rule's business.
    if removed.len() <= added.len() || !changed_matching(file, Side::Old, &TEST_HEAD).is_empty() {
        return Vec::new();
    }
    let lost = removed.len() - added.len();
    let kept: Vec<&str> = added.iter().map(|(_, line)| line.trim()).collect();
    let Some((first, _)) = removed.iter().find(|(_, line)| !kept.contains(&line.trim())) else { return Vec::new() };
    let words = if lost == 1 { "One assertion".to_owned() } else { format!("{lost} assertions") };
    vec![Remark::at(Place::Lines(Side::Old, *first, *first)).with(format!("{words} fewer in this file after the change."))]
}

pub(crate) fn weakened_assertion(file: &FileView<'_>) -> Vec<Remark> {
    if !in_tests(file) {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    for hunk in file.hunks() {
        let mut removed_strong = 0usize;
        let mut added_strong = 0usize;
        let mut weak: Vec<u32> = Vec::new();
        let mut number = hunk.new_start;
        let mut settle = |removed: &mut usize, added: &mut usize, weak: &mut Vec<u32>| {
            let lost = removed.saturating_sub(*added);
            for &line in weak.iter().take(lost) {
                remarks.push(Remark::at(Place::Lines(Side::New, line, line)).with("It takes the place of one that compared values."));
            }
            (*removed, *added) = (0, 0);
            weak.clear();
        };
        for line in &hunk.lines {
            let text = String::from_utf8_lossy(&line.text);
            match line.kind {
                LineKind::Context => {
                    settle(&mut removed_strong, &mut added_strong, &mut weak);
                    number = number.saturating_add(1);
                }
                LineKind::Removed => removed_strong += usize::from(STRONG.is_match(&text)),
                LineKind::Added => {
                    if STRONG.is_match(&text) {
                        added_strong += 1;
                    } else if WEAK.is_match(&text) {
                        weak.push(number);
                    }
                    number = number.saturating_add(1);
                }
            }
        }
        settle(&mut removed_strong, &mut added_strong, &mut weak);
    }
    remarks
}

pub(crate) fn removed_test(file: &FileView<'_>) -> Vec<Remark> {
    if file.change.status == ChangeStatus::Deleted {
        return Vec::new();
    }
    let removed = changed_matching(file, Side::Old, &TEST_HEAD);
    let added = changed_matching(file, Side::New, &TEST_HEAD);
    if removed.len() <= added.len() {
        return Vec::new();
    }
    let lost = removed.len() - added.len();
    let kept: Vec<&str> = added.iter().map(|(_, line)| line.trim()).collect();
    let gone = removed.iter().find(|(_, line)| line.trim_start().starts_with(['#', '@', '[']) || !kept.contains(&line.trim()));
    let Some((first, _)) = gone else { return Vec::new() };
    let words = if lost == 1 { "One test".to_owned() } else { format!("{lost} tests") };
    vec![Remark::at(Place::Lines(Side::Old, *first, *first)).with(format!("{words} fewer in this file after the change."))]
}

pub(crate) fn removed_test_file(file: &FileView<'_>) -> Vec<Remark> {
    if file.change.status != ChangeStatus::Deleted || !file.is_test {
        return Vec::new();
    }
    let Some(side) = &file.old else { return Vec::new() };
    let tests = side.changed_lines().filter(|(_, line)| TEST_HEAD.is_match(line)).count();
    if tests == 0 { Vec::new() } else { vec![Remark::file(format!("The file held {tests} tests."))] }
}
