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

#[cfg(test)]
#[path = "secret_tests.rs"]
mod secret_tests;
