//! The filter language of all tables (gui.md 2): free words, `field:value`, `field:a,b`, `-field:value`, `*` as wildcard,
//! `left:<10s`, `collapsed:>100`, quotes around what holds spaces or colons.
//!
//! A table names its fields and says what a row has in them; parsing and matching are here. Words and values match without
//! regard to ASCII case. Conditions on the data by path are refused by name.

use crate::payload::Needle;
use crate::view::{Failure, FailureCode};
use onceover_engine::names::JobId;
use std::io::Write as _;

/// How the values of a field are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As a whole, with `*` for any text.
    Text,
    /// As a whole or by its end, because ids are shown by their end.
    Id,
    /// As a number, with `<`, `>`, `<=`, `>=`.
    Number,
    /// The same, for a duration with its unit.
    Duration,
}

/// A table's fields: what they are called, how they compare, and the table's own name for them.
pub type Fields<F> = &'static [(&'static str, Kind, F)];

/// A row that can be filtered.
pub trait Row<F> {
    /// Calls `is` with each text of the field until it answers true; answers what `is` answered last.
    fn text(&self, field: F, is: &mut dyn FnMut(&str) -> bool) -> bool;

    /// The field's number; durations in milliseconds. None when the row has none, which then matches nothing.
    fn number(&self, field: F) -> Option<i64>;

    /// Whether a free word stands anywhere in the row.
    fn has_word(&self, word: &Needle) -> bool;
}

/// Asks about an id's text without allocating it: a page asks for thousands.
pub fn id_is(id: &JobId, is: &mut dyn FnMut(&str) -> bool) -> bool {
    match id {
        JobId::Text(text) => is(text),
        JobId::Uuid(_) => {
            let mut buffer = [0_u8; 36];
            write!(&mut buffer[..], "{id}").expect("a UUID has 36 characters");
            is(std::str::from_utf8(&buffer).expect("a UUID is ASCII"))
        }
    }
}

/// Whether a free word stands in an id.
pub fn id_has_word(id: &JobId, word: &Needle) -> bool {
    match id {
        JobId::Uuid(_) if !word.can_be_in_uuid() => false,
        JobId::Uuid(_) | JobId::Text(_) => id_is(id, &mut |text| word.is_in(text.as_bytes())),
    }
}

/// A parsed filter: all its terms must hold.
#[derive(Clone, Debug)]
pub struct Filter<F> {
    terms: Vec<Term<F>>,
}

#[derive(Clone, Debug)]
struct Term<F> {
    negated: bool,
    test: Test<F>,
}

#[derive(Clone, Debug)]
enum Test<F> {
    Word(Needle),
    Text { field: F, ends: bool, any: Vec<String> },
    Number { field: F, any: Vec<Comparison> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    value: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

impl<F: Copy + 'static> Filter<F> {
    /// The filter that `text` describes.
    ///
    /// # Errors
    /// `BadFilter`, which names the part that cannot be understood and what would be.
    pub fn parse(text: &str, fields: Fields<F>) -> Result<Filter<F>, Failure> {
        let terms = tokens(text)?.iter().map(|token| term(token, fields)).collect::<Result<_, _>>()?;
        Ok(Filter { terms })
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether the row passes.
    pub fn accepts(&self, row: &impl Row<F>) -> bool {
        self.terms.iter().all(|term| term.test.holds(row) != term.negated)
    }
}

impl<F: Copy> Test<F> {
    fn holds(&self, row: &impl Row<F>) -> bool {
        match self {
            Test::Word(word) => row.has_word(word),
            Test::Text { field, ends, any } => {
                row.text(*field, &mut |text| any.iter().any(|one| fits(one, text, *ends)))
            }
            Test::Number { field, any } => {
                row.number(*field).is_some_and(|number| any.iter().any(|one| one.holds(number)))
            }
        }
    }
}

impl Comparison {
    fn holds(self, number: i64) -> bool {
        match self.operator {
            Operator::Less => number < self.value,
            Operator::AtMost => number <= self.value,
            Operator::Equal => number == self.value,
            Operator::AtLeast => number >= self.value,
            Operator::More => number > self.value,
        }
    }
}

/// Whether `text` is what `pattern` describes; with `ends`, its end is enough.
fn fits(pattern: &str, text: &str, ends: bool) -> bool {
    if ends && !pattern.contains('*') {
        let pattern = pattern.trim_start_matches('…').as_bytes();
        return text
            .len()
            .checked_sub(pattern.len())
            .is_some_and(|at| text.as_bytes()[at..].eq_ignore_ascii_case(pattern));
    }
    glob(pattern.as_bytes(), text.as_bytes())
}

/// `*` stands for any bytes. The last star is the only place that is ever returned to, so the time is bounded by the product.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p].eq_ignore_ascii_case(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((back, from)) = star {
            p = back + 1;
            t = from + 1;
            star = Some((back, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// One part of the filter's text. Quoted characters are plain text, whatever they are.
#[derive(Debug, Default)]
struct Token {
    characters: Vec<(char, bool)>,
}

impl Token {
    fn text(&self) -> String {
        self.characters.iter().map(|(character, _)| character).collect()
    }

    /// The name in front of an unquoted colon, if it looks like one, and what follows.
    fn field(&self, from: usize) -> Option<(String, &[(char, bool)])> {
        let colon = self.characters.iter().position(|(character, quoted)| *character == ':' && !quoted)?;
        let name = self.characters.get(from..colon)?;
        let is_name = !name.is_empty()
            && name.iter().all(|(character, quoted)| {
                !quoted && (character.is_ascii_alphabetic() || matches!(character, '.' | '_'))
            });
        let name = name.iter().map(|(character, _)| character.to_ascii_lowercase()).collect();
        is_name.then(|| (name, &self.characters[colon + 1..]))
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Failure> {
    let mut tokens = vec![Token::default()];
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            _ if character.is_whitespace() && !quoted => tokens.push(Token::default()),
            _ => {
                if let Some(token) = tokens.last_mut() {
                    token.characters.push((character, quoted));
                }
            }
        }
    }
    if quoted {
        return Err(bad("A quote is not closed."));
    }
    tokens.retain(|token| !token.characters.is_empty());
    Ok(tokens)
}

fn term<F: Copy>(token: &Token, fields: Fields<F>) -> Result<Term<F>, Failure> {
    let negated = token.characters.len() > 1 && token.characters[0] == ('-', false);
    let from = usize::from(negated);
    let Some((name, values)) = token.field(from) else {
        let word: String = token.text().chars().skip(from).collect();
        return Ok(Term { negated, test: Test::Word(Needle::new(&word)) });
    };
    if name.starts_with("data.") {
        return Err(bad(&format!(
            "{name}: rows cannot be found by a path in the data yet. Type the value as a plain word."
        )));
    }
    let Some((_, kind, field)) = fields.iter().find(|(known, _, _)| *known == name) else {
        let known: Vec<&str> = fields.iter().map(|(known, _, _)| *known).collect();
        let known = known.join(", ");
        return Err(bad(&format!("There is no field {name} here, only {known}. Quote a word that holds a colon.")));
    };
    let values = split(values);
    if values.iter().any(String::is_empty) {
        return Err(bad(&format!("{name}: a value is missing.")));
    }
    let field = *field;
    let test = match kind {
        Kind::Text => Test::Text { field, ends: false, any: values },
        Kind::Id => Test::Text { field, ends: true, any: values },
        Kind::Number => Test::Number { field, any: compare(&name, &values, number)? },
        Kind::Duration => Test::Number { field, any: compare(&name, &values, duration)? },
    };
    Ok(Term { negated, test })
}

/// The values between unquoted commas.
fn split(values: &[(char, bool)]) -> Vec<String> {
    let parts = values.split(|(character, quoted)| *character == ',' && !quoted);
    parts.map(|part| part.iter().map(|(character, _)| character).collect()).collect()
}

fn compare(
    name: &str,
    values: &[String],
    parse: fn(&str, &str) -> Result<i64, Failure>,
) -> Result<Vec<Comparison>, Failure> {
    let one = |value: &String| {
        const OPERATORS: [(&str, Operator); 5] = [
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("<", Operator::Less),
            (">", Operator::More),
            ("=", Operator::Equal),
        ];
        let found = OPERATORS.iter().find_map(|(sign, operator)| Some((value.strip_prefix(sign)?, *operator)));
        let (rest, operator) = found.unwrap_or((value, Operator::Equal));
        Ok(Comparison { operator, value: parse(name, rest)? })
    };
    values.iter().map(one).collect()
}

fn number(name: &str, text: &str) -> Result<i64, Failure> {
    text.parse().map_err(|_| bad(&format!("{name}: {text:?} is not a whole number. Example: {name}:>100")))
}

/// A number with `ms`, `s`, `m`, `h` or `d` behind it, in milliseconds.
fn duration(name: &str, text: &str) -> Result<i64, Failure> {
    let digits =
        text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.').len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => {
            return Err(bad(&format!(
                "{name}: {text:?} is not a duration. Example: {name}:<10s, with ms, s, m, h or d."
            )));
        }
    };
    let number: f64 =
        number.parse().map_err(|_| bad(&format!("{name}: {text:?} is not a duration. Example: {name}:<10s")))?;
    Ok((number * factor) as i64)
}

fn bad(message: &str) -> Failure {
    Failure { code: FailureCode::BadFilter, message: message.to_owned() }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod filter_tests;
