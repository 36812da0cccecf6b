//! How names of columns, levels and classes are written wherever something is printed: text, rules, DOT, reprs, errors,
//! the command line.
//!
//! A name is written as it is if it cannot be misread, else in double quotes. In quotes, characters that are invisible
//! or change how their surroundings look (control and escape codes, line ends, marks of writing direction, characters
//! without width or ink, spaces other than the common one) are written `\n`, `\t`, `\r`, `\0` or `\u{202e}`, a quote is
//! written `\"` and a backslash `\\`. So names that differ look different, no name breaks a line, and a printed
//! condition can be read in one way only.

use std::borrow::Cow;
use std::fmt::Write;

/// The kind of thing that is named: it decides which names could be misread and must be quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A column.
    Column,
    /// A level of a column.
    Level,
    /// A class: its mass follows in parentheses.
    Class,
}

/// The name in double quotes.
pub(crate) fn quoted(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    let mut first = true;
    for c in name.chars() {
        push_escaped(&mut text, c, first);
        first = false;
    }
    text.push('"');
    text
}

/// As [`quoted`], for UTF-16 that need not be valid: half of a pair is written as `\u{d800}`.
#[cfg(feature = "python")]
pub(crate) fn quoted_utf16(name: &[u16]) -> String {
    let mut text = String::from("\"");
    for (i, unit) in char::decode_utf16(name.iter().copied()).enumerate() {
        match unit {
            Ok(c) => push_escaped(&mut text, c, i == 0),
            Err(half) => push_code(&mut text, u32::from(half.unpaired_surrogate())),
        }
    }
    text.push('"');
    text
}

/// The name as it is if that has one reading, else [`quoted`].
pub(crate) fn shown(name: &str, of: Of) -> Cow<'_, str> {
    match is_plain(name, of) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(quoted(name)),
    }
}

/// Names for a list in a sentence, as [`shown`].
#[cfg(feature = "python")]
pub(crate) fn listed<S: AsRef<str>>(names: &[S], of: Of) -> String {
    names.iter().map(|name| shown(name.as_ref(), of)).collect::<Vec<_>>().join(", ")
}

/// Words of conditions and rules, which a name must not contain.
const WORDS: [&str; 6] = ["<=", ">", "=", "is", "and", "missing"];
/// Words that are printed in place of a name.
const WHOLE: [&str; 4] = ["known", "any other", "always", "if"];
/// The word that is printed in place of an empty list of columns.
const NO_COLUMN: &str = "none";
/// How conditions, rules, leaves, hidden nodes and the lines of a text begin.
const STARTS: [&str; 8] = ["not ", "if ", "each ", "any other ", "...", "|", "[", "("];

fn is_plain(name: &str, of: Of) -> bool {
    let separates = |c: char| matches!(c, '"' | '\\' | ',' | '{' | '}');
    let first = |c: char| must_escape(c, true);
    !(name.is_empty()
        || name.starts_with(' ')
        || name.ends_with([' ', ':'])
        || name.contains("  ") // looks like one space where text is set
        || name.contains(": ")
        || name.contains(separates)
        || name.starts_with(first)
        || name.contains(|c| must_escape(c, false))
        || WHOLE.contains(&name)
        || of == Of::Column && name == NO_COLUMN
        || STARTS.iter().any(|start| name.starts_with(start))
        || name.split(' ').any(|word| WORDS.contains(&word))
        || of == Of::Class && name.ends_with(')'))
}

fn push_escaped(text: &mut String, c: char, first: bool) {
    match c {
        '"' | '\\' => text.extend(['\\', c]),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\0' => text.push_str("\\0"),
        c if must_escape(c, first) => push_code(text, u32::from(c)),
        c => text.push(c),
    }
}

fn push_code(text: &mut String, code: u32) {
    write!(text, "\\u{{{code:x}}}").expect("writing to a string cannot fail");
}

/// Whether a character must be escaped because it is invisible, or a combining mark that is the `first` character and
/// so has nothing to combine with.
fn must_escape(c: char, first: bool) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    // The standard library escapes characters that are not printable, and combining marks at the start of a text.
    let mut text = ['a', c];
    if first {
        text.swap(0, 1);
    }
    let text: String = text.iter().collect();
    text.escape_debug().count() > 2 || has_no_ink(c)
}

/// Whether a letter, mark or symbol is blank or only changes how others look.
fn has_no_ink(c: char) -> bool {
    matches!(
        c,
        '\u{034f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{fffc}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The name that [`quoted`] wrote; `None` for a text it did not write.
    fn unquoted(text: &str) -> Option<String> {
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        let (mut name, mut chars) = (String::new(), inner.chars());
        while let Some(c) = chars.next() {
            name.push(match c {
                '"' => return None,
                '\\' => match chars.next()? {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    'u' => {
                        let code: String = chars.by_ref().take_while(|&c| c != '}').collect();
                        char::from_u32(u32::from_str_radix(code.strip_prefix('{')?, 16).ok()?)?
                    }
                    c @ ('"' | '\\') => c,
                    _ => return None,
                },
                c => c,
            });
        }
        Some(name)
    }

    /// Names that are hard to print, for tests.
    fn any_name() -> impl proptest::strategy::Strategy<Value = String> {
        const PARTS: [&str; 46] = [
            "a",
            "red",
            " ",
            "  ",
            "or missing",
            "missing",
            "known",
            "any other",
            "is",
            "not",
            "in",
            "<=",
            ">",
            "=",
            "and",
            "if",
            "or",
            "each of",
            "each level of",
            "always",
            "none",
            "...",
            "(3)",
            "(3/1)",
            "(",
            ")",
            "[41] ",
            "|   ",
            ":",
            ": ",
            ",",
            "{",
            "}",
            "\"",
            "\\",
            "\\n",
            "&amp;",
            "\n",
            "\r\n",
            "\u{1b}[31m",
            "\u{202e}",
            "\u{200b}",
            "\u{2028}",
            "\u{301}",
            "\u{fe0f}",
            "🌳",
        ];
        let part = prop_oneof![
            6 => prop::sample::select(&PARTS[..]).prop_map(String::from),
            1 => any::<char>().prop_map(String::from),
        ];
        (prop::collection::vec(part, 0..5), any::<bool>())
            .prop_map(|(parts, spaced)| parts.join(if spaced { " " } else { "" }))
    }

    #[test]
    fn quotes_only_where_needed() {
        for plain in [
            "red",
            "3 speed",
            "c<d",
            "e&f",
            "it's",
            "🌳",
            "a b",
            "naïve",
            "knowns",
            ">50K",
            "<=50K",
            "3 or more",
            "in",
            "a:b",
            "x in y",
            "nameless",
            "x=3",
            "नाम",
            "e\u{301}",
            "10-20",
            "#1",
            "a/b",
        ] {
            for of in [Of::Column, Of::Level, Of::Class] {
                assert_eq!(shown(plain, of), plain);
            }
        }
        assert_eq!(shown("sepal length (cm)", Of::Column), "sepal length (cm)");
        for (text, expected) in [
            ("", r#""""#),
            (" x", r#"" x""#),
            ("x ", r#""x ""#),
            ("a  b", r#""a  b""#),
            ("a,b", r#""a,b""#),
            ("a\"b", r#""a\"b""#),
            ("g\\h", r#""g\\h""#),
            ("{}", r#""{}""#),
            ("two\nlines", r#""two\nlines""#),
            ("nul\0", r#""nul\0""#),
            ("\u{1b}[31mred", r#""\u{1b}[31mred""#),
            ("a\u{202e}b", r#""a\u{202e}b""#),
            ("a\u{200b}b", r#""a\u{200b}b""#),
            ("a\u{a0}b", r#""a\u{a0}b""#),
            ("a\u{2028}b\u{2029}", r#""a\u{2028}b\u{2029}""#),
            ("\u{feff}a", r#""\u{feff}a""#),
            ("\u{301}a", r#""\u{301}a""#),
            ("❤\u{fe0f}", r#""❤\u{fe0f}""#),
            ("\u{3164}", r#""\u{3164}""#),
            ("missing", r#""missing""#),
            ("known", r#""known""#),
            ("any other", r#""any other""#),
            ("not red", r#""not red""#),
            ("Other or missing", r#""Other or missing""#),
            ("a <= 5", r#""a <= 5""#),
            ("x is y", r#""x is y""#),
            ("= 3", r#""= 3""#),
            ("salt and pepper", r#""salt and pepper""#),
            ("if a", r#""if a""#),
            ("... (3 nodes)", r#""... (3 nodes)""#),
            ("[red]", r#""[red]""#),
            ("|   a", r#""|   a""#),
            ("(a", r#""(a""#),
            ("a: b", r#""a: b""#),
            ("a:", r#""a:""#),
        ] {
            for of in [Of::Column, Of::Level, Of::Class] {
                assert_eq!(shown(text, of), expected);
            }
        }
        assert_eq!(shown("yes (3)", Of::Class), r#""yes (3)""#);
    }

    #[cfg(feature = "python")]
    #[test]
    fn half_a_pair_is_written_as_its_code() {
        assert_eq!(listed(&["a", "b,c"], Of::Column), r#"a, "b,c""#);
        assert_eq!(quoted_utf16(&[0x61, 0xd800, 0x62]), r#""a\u{d800}b""#);
        assert_eq!(quoted_utf16(&"🌳\n".encode_utf16().collect::<Vec<_>>()), r#""🌳\n""#);
    }

    proptest! {
        #[test]
        fn fault_x11_a_name_is_printed_visibly_and_read_back(name in any_name()) {
            let text = quoted(&name);
            prop_assert_eq!(unquoted(&text), Some(name.clone()));
            let units: Vec<u16> = name.encode_utf16().collect();
            #[cfg(feature = "python")]
            prop_assert_eq!(&quoted_utf16(&units), &text);
            let _ = units;
            for of in [Of::Column, Of::Level, Of::Class] {
                let text = shown(&name, of);
                prop_assert!(text == name || unquoted(&text) == Some(name.clone()));
                prop_assert!(text.chars().skip(1).all(|c| !c.is_control() && !must_escape(c, false)), "{text:?}");
            }
        }
    }
}
