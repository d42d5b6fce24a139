//! Pages put together give the whole list, once each, in order.

use super::*;

fn all_pages(numbers: &[i64], limit: usize, reverse: bool) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut window = Window { after: None, limit, reverse };
    loop {
        let rank = |(own, number): (usize, &i64)| Rank { numbers: (*number, 0), texts: ("q", "k"), own: own as u64 };
        let rows = numbers.iter().enumerate().map(|row| (rank(row), *row.1)).collect();
        let (page, next) = window.cut(rows);
        assert!(page.len() <= limit);
        seen.extend(page.iter().map(|(_, number)| *number));
        let Some(next) = next else { return seen };
        window.after = Some(Place::parse(&next.cursor()).unwrap());
    }
}

#[test]
fn pages_give_every_row_once_in_order() {
    let numbers = [5, 3, 3, 9, 1, 1, 1, 7];
    for limit in [1, 2, 3, 8, 100] {
        assert_eq!(all_pages(&numbers, limit, false), [1, 1, 1, 3, 3, 5, 7, 9]);
        assert_eq!(all_pages(&numbers, limit, true), [9, 7, 5, 3, 3, 1, 1, 1]);
    }
}

#[test]
fn a_foreign_cursor_is_refused() {
    assert_eq!(Place::parse("nonsense").unwrap_err().code, FailureCode::BadRequest);
}
