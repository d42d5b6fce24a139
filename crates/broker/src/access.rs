//! Who may ask: the tokens that open the door, which can change while clients are connected.
//!
//! Guarantees: a client that came in by a token that is not in the list any more, or without one before there were any,
//! is found by [`Access::admits`] after [`Access::replace`] has returned, whatever it does meanwhile. Tokens are compared
//! in constant time.

use crate::conn_table::Client;
use crate::secret::same_secret;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Tokens that may be set at the same time.
pub const TOKENS_MAX: usize = 100;
/// Bytes of a token.
pub const TOKEN_BYTES_MAX: usize = 1_024;

/// Why a list of tokens cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Too many.
    #[error("at most {TOKENS_MAX} tokens can be set, not {count}.")]
    TooMany {
        /// How many there were.
        count: usize,
    },
    /// Nothing to compare with.
    #[error("token {number} is empty.")]
    Empty {
        /// Which, from 1.
        number: usize,
    },
    /// Too long.
    #[error("token {number} is longer than {TOKEN_BYTES_MAX} bytes.")]
    TooLong {
        /// Which, from 1.
        number: usize,
    },
    /// It could not stand in `AUTH_TOKENS`.
    #[error("token {number} holds a comma, a space or a control character, which no token may.")]
    Character {
        /// Which, from 1.
        number: usize,
    },
}

/// How a client came in: through no token, as nobody asked for one, or by a token's number.
#[derive(Debug, Default)]
pub struct Admission(AtomicU64);

const OUTSIDE: u64 = 0;
const OPEN: u64 = 1;
const FIRST_TOKEN: u64 = 2;

/// The tokens; none = everybody may ask.
#[derive(Debug, Default)]
pub struct Access {
    list: RwLock<List>,
}

#[derive(Debug)]
struct List {
    tokens: Vec<Token>,
    /// Numbers are never given twice, so a token that comes back does not bring back those who had it before.
    next_number: u64,
}

impl Default for List {
    fn default() -> List {
        List { tokens: Vec::new(), next_number: FIRST_TOKEN }
    }
}

#[derive(Debug)]
struct Token {
    number: u64,
    secret: String,
}

impl Access {
    /// These tokens, and no others.
    #[must_use]
    pub fn new(tokens: &[String]) -> Access {
        let access = Access::default();
        access.replace(tokens);
        access
    }

    /// Whether everybody may ask.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.list().tokens.is_empty()
    }

    /// All tokens, for whoever may change them.
    #[must_use]
    pub fn tokens(&self) -> Vec<String> {
        self.list().tokens.iter().map(|token| token.secret.clone()).collect()
    }

    /// From now on these tokens. A token that was there before keeps its number, so its clients stay.
    pub fn replace(&self, tokens: &[String]) {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut list.tokens);
        for secret in tokens {
            if list.tokens.iter().any(|token| token.secret == *secret) {
                continue;
            }
            let kept = before.iter().find(|token| token.secret == *secret).map(|token| token.number);
            let number = kept.unwrap_or_else(|| {
                list.next_number += 1;
                list.next_number - 1
            });
            list.tokens.push(Token { number, secret: secret.clone() });
        }
    }

    /// A client comes. Whether it may ask at once.
    pub fn enter(&self, client: &Client) -> bool {
        // Noted under the lock: a list that is replaced afterwards finds it.
        let list = self.list();
        let open = list.tokens.is_empty();
        client.admission.set(if open { OPEN } else { OUTSIDE });
        open
    }

    /// A client shows a token. A wrong one does not undo an earlier success.
    ///
    /// Without tokens every client that has one is let in; bunqueue turns it away (protocol-core.md 2.3).
    pub fn authenticate(&self, client: &Client, guess: &str) -> bool {
        let list = self.list();
        if list.tokens.is_empty() {
            client.admission.set(OPEN);
            return true;
        }
        // All of them are looked at in any case, so the time tells nothing.
        let matching = list.tokens.iter().fold(None, |found, token| {
            let same = same_secret(token.secret.as_bytes(), guess.as_bytes());
            if same { Some(token.number) } else { found }
        });
        if let Some(number) = matching {
            client.admission.set(number);
        }
        matching.is_some()
    }

    /// Whether whoever shows this token may ask, without becoming a client.
    #[must_use]
    pub fn lets_in(&self, token: Option<&str>) -> bool {
        let list = self.list();
        // All of them are looked at in any case, so the time tells nothing.
        let guess = token.unwrap_or_default().as_bytes();
        let known = |found, token: &Token| found | same_secret(token.secret.as_bytes(), guess);
        list.tokens.is_empty() | list.tokens.iter().fold(false, known)
    }

    /// Whether a client may stay: what let it in still holds, or it has not been let in yet and may still show a token.
    #[must_use]
    pub fn admits(&self, client: &Client) -> bool {
        let list = self.list();
        match client.admission.get() {
            OUTSIDE => true,
            OPEN => list.tokens.is_empty(),
            number => list.tokens.iter().any(|token| token.number == number),
        }
    }

    /// A list is only replaced as a whole, so a panic elsewhere cannot leave it half changed.
    fn list(&self) -> RwLockReadGuard<'_, List> {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission {
    fn set(&self, how: u64) {
        self.0.store(how, Ordering::Release);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Whether a list of tokens can be set; what passes can also stand in `AUTH_TOKENS`.
///
/// # Errors
/// The first token that cannot be used, by its number.
pub fn check_tokens(tokens: &[String]) -> Result<(), TokenError> {
    if tokens.len() > TOKENS_MAX {
        return Err(TokenError::TooMany { count: tokens.len() });
    }
    for (number, token) in (1..).zip(tokens) {
        if token.is_empty() {
            return Err(TokenError::Empty { number });
        }
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong { number });
        }
        if token.chars().any(|char| char == ',' || char.is_whitespace() || char.is_control()) {
            return Err(TokenError::Character { number });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod access_tests;
