//! Shares and rates of a queue's last minute.

use super::*;

#[test]
fn shares_and_rates_come_from_the_last_minute() {
    let second = |added, collapsed| Second { added, collapsed, ended: 0 };
    assert_eq!((collapsed_percent(&[]), adds_per_s(&[])), (None, 0.0));
    assert_eq!(collapsed_percent(&[Second::default(); 60]), None, "no adds are not 0 %");
    let mut minute = [Second::default(); 60];
    minute[3] = second(30, 10);
    assert_eq!((collapsed_percent(&minute), adds_per_s(&minute)), (Some(25.0), 0.0));
    minute[58] = second(5, 0);
    minute[59] = second(0, 5);
    assert_eq!((collapsed_percent(&minute), adds_per_s(&minute)), (Some(30.0), 2.0));
}
