//! Comparing secrets without telling by the time it takes how much of a guess was right.

/// Whether `guess` is `secret`. The time depends on the lengths only.
#[must_use]
pub fn same_secret(secret: &[u8], guess: &[u8]) -> bool {
    let longest = secret.len().max(guess.len());
    let mut difference = secret.len() ^ guess.len();
    for at in 0..longest {
        let ours = secret.get(at).copied().unwrap_or(0);
        let theirs = guess.get(at).copied().unwrap_or(0);
        // `black_box` keeps the compiler from leaving the loop at the first difference.
        difference |= std::hint::black_box(usize::from(ours ^ theirs));
    }
    difference == 0
}

/// Whether `guess` is one of `secrets`; looks at all of them in any case.
#[must_use]
pub fn one_of(secrets: &[String], guess: &str) -> bool {
    secrets.iter().fold(false, |found, secret| found | same_secret(secret.as_bytes(), guess.as_bytes()))
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod secret_tests;
