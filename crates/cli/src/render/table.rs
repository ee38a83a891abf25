//! A table that fits the terminal.

use anstyle::Style;
use st_app::export::text::Look;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    title: &'static str,
    right: bool,
    flexible: bool,
}

impl Column {
    /// Text begins at the left.
    pub(crate) fn left(title: &'static str) -> Self {
        Self { title, right: false, flexible: false }
    }

    /// Numbers end at the right.
    pub(crate) fn right(title: &'static str) -> Self {
        Self { title, right: true, flexible: false }
    }

    /// Gives way when the terminal is narrow; the last column.
    pub(crate) fn flexible(title: &'static str) -> Self {
        Self { title, right: false, flexible: true }
    }
}

/// A cell: text, and its colour.
pub(crate) type Cell = (String, Option<Style>);

/// Lays out `rows` under the columns' titles. With a `width`, the flexible column is cut to fit,
/// and the cut is shown; without one (no terminal) nothing is cut.
pub(crate) fn table(columns: &[Column], rows: Vec<Vec<Cell>>, width: Option<usize>, look: &Look) -> String {
    let titles: Vec<Cell> = columns.iter().map(|column| (column.title.to_owned(), Some(Style::new().dimmed()))).collect();
    let rows: Vec<Vec<Cell>> = std::iter::once(titles).chain(rows).collect();
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|index| rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.0.width()).max().unwrap_or(0))
        .collect();
    if let Some(width) = width {
        let gaps = 2 * columns.len().saturating_sub(1);
        let fixed: usize = columns.iter().zip(&widths).filter(|(column, _)| !column.flexible).map(|(_, width)| width).sum();
        for (column, own) in columns.iter().zip(&mut widths) {
            if column.flexible {
                *own = (*own).min(width.saturating_sub(fixed + gaps).max(12));
            }
        }
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (index, ((text, style), (column, width))) in row.iter().zip(columns.iter().zip(&widths)).enumerate() {
            let text = cut(text, *width);
            let pad = " ".repeat(width.saturating_sub(text.width()));
            let painted = style.map_or(text.clone(), |style| look.paint(style, &text));
            let last = index + 1 == columns.len();
            match (column.right, last) {
                (true, _) => line.push_str(&format!("{pad}{painted}")),
                (false, true) => line.push_str(&painted),
                (false, false) => line.push_str(&format!("{painted}{pad}")),
            }
            if !last {
                line.push_str("  ");
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// `text` in at most `width` columns, ending in `…` when something was cut.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(letter);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_flexible_column_is_cut_and_the_cut_shows() {
        let columns = [Column::right("id"), Column::left("state"), Column::flexible("title")];
        let row = |id: &str, title: &str| vec![(id.to_owned(), None), ("✓ done".to_owned(), None), (title.to_owned(), None)];
        let rows = vec![row("#1", "short"), row("#123", "日本語の長い題名がここにあります")];
        let narrow = table(&columns, rows.clone(), Some(30), &Look::default());
        assert_eq!(narrow, "  id  state   title\n  #1  ✓ done  short\n#123  ✓ done  日本語の長い題…\n");
        assert!(narrow.lines().all(|line| line.width() <= 30));
        assert!(table(&columns, rows, None, &Look::default()).contains("日本語の長い題名がここにあります"));
    }
}
