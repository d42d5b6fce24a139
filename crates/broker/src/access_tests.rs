//! Who is let in, and who may stay when the tokens change.

use super::*;
use onceover_engine::names::ConnId;

fn client() -> Client {
    Client::new(ConnId(1), "127.0.0.1:5000".parse().unwrap())
}

fn list(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|token| (*token).to_owned()).collect()
}

#[test]
fn a_client_stays_for_as_long_as_what_let_it_in_holds() {
    let access = Access::new(&list(&["a", "b"]));
    let (by_a, by_b, nobody) = (client(), client(), client());
    assert!([&by_a, &by_b, &nobody].iter().all(|client| !access.enter(client)));
    assert!(access.authenticate(&by_a, "a") && access.authenticate(&by_b, "b"));
    assert!(!access.authenticate(&nobody, "c"));
    assert!(!access.authenticate(&by_b, "c"), "a wrong token is refused");
    assert!(access.admits(&by_b), "and undoes nothing");
    access.replace(&list(&["b", "c"]));
    assert!(!access.admits(&by_a), "its token has gone");
    assert!(access.admits(&by_b));
    assert!(access.admits(&nobody), "it may still show a token");
    access.replace(&list(&["a", "b"]));
    assert!(!access.admits(&by_a), "a token that comes back is a new one");
}

#[test]
fn the_first_token_ends_the_time_without() {
    let access = Access::default();
    let early = client();
    assert!(access.is_open() && access.enter(&early));
    assert!(access.authenticate(&early, "anything"), "who has a token is let in as well");
    access.replace(&list(&["a"]));
    assert!(!access.is_open() && !access.admits(&early));
    access.replace(&[]);
    assert!(access.admits(&early));
}

#[test]
fn a_token_given_twice_counts_once() {
    let access = Access::new(&list(&["a", "a", "b"]));
    assert_eq!(access.tokens(), ["a", "b"]);
}

#[test]
fn tokens_of_no_use_are_named_by_their_number() {
    let text = |tokens: &[&str]| check_tokens(&list(tokens)).map_or_else(|error| error.to_string(), |()| String::new());
    assert_eq!(text(&["a", "Ünïcode-tökén"]), "");
    assert_eq!(text(&["a", ""]), "token 2 is empty.");
    for bad in ["a,b", "a b", " a", "a\n", "\u{7f}"] {
        assert_eq!(text(&[bad]), "token 1 holds a comma, a space or a control character, which no token may.");
    }
    assert_eq!(text(&[&"x".repeat(TOKEN_BYTES_MAX)]), "");
    assert_eq!(text(&[&"x".repeat(TOKEN_BYTES_MAX + 1)]), "token 1 is longer than 1024 bytes.");
    assert_eq!(text(&vec!["a"; TOKENS_MAX]), "");
    assert_eq!(text(&vec!["a"; TOKENS_MAX + 1]), "at most 100 tokens can be set, not 101.");
}
