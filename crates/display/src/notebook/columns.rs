//! The width of text in a font whose letters have the same width.

/// Returns the columns that a text takes: Chinese, Japanese and Korean letters, and emoji, take two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars()
        .map(|letter| 1 + usize::from(is_wide(letter)))
        .sum()
}

/// Returns whether a letter is as wide as two others.
fn is_wide(letter: char) -> bool {
    matches!(
        letter,
        '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{1f300}'..='\u{1faff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!(["größer", "损失", "x，", "→ …"].map(columns), [6, 4, 3, 3]);
    }
}
