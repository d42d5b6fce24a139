//! When the log begins anew, with and without a thread, and beside a reader that holds it.

use super::*;
use crate::samples::Folder;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pages of a row, and what stands around it.
const ROW_PAGES: i32 = 1_024;
const MORE: i32 = 16;

fn open(file: &Path) -> Connection {
    let conn = Connection::open(file).unwrap();
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    conn.execute_batch("CREATE TABLE IF NOT EXISTS rows (data BLOB)").unwrap();
    conn
}

fn write(conn: &Connection, merges: &mut Merges) {
    conn.execute("INSERT INTO rows VALUES (zeroblob(4096 * ?1))", [ROW_PAGES]).unwrap();
    merges.look(conn);
}

/// Waits until the thread is done with what it was begun for.
fn wait(merges: &Merges) {
    let began = Instant::now();
    while let By::Busy(thread) = &merges.by {
        if thread.is_finished() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the thread does not end");
        thread::sleep(Duration::from_millis(1));
    }
}

fn rows(conn: &Connection) -> i32 {
    conn.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap()
}

fn pages(merges: &Merges) -> i32 {
    merges.log.load(Ordering::Relaxed)
}

#[test]
fn the_thread_merges_all_of_the_log_and_the_next_commit_begins_it_anew() {
    let folder = Folder::new();
    let mut conn = open(&folder.file());
    let mut merges = Merges::new(&mut conn, Some(open(&folder.file()))).unwrap();
    for _ in 0..4 {
        assert!(matches!(merges.by, By::Thread(_)), "{} pages are not yet too many", pages(&merges));
        write(&conn, &mut merges);
    }
    assert!(matches!(merges.by, By::Busy(_)) && pages(&merges) >= MERGED_AFTER_PAGES, "{}", pages(&merges));
    wait(&merges);
    write(&conn, &mut merges);
    assert!(matches!(merges.by, By::Thread(_)) && pages(&merges) <= ROW_PAGES + MORE, "{}", pages(&merges));
    assert_eq!(rows(&conn), 5);
}

#[test]
fn the_log_stays_bounded_however_fast_commits_come() {
    for with_thread in [true, false] {
        let folder = Folder::new();
        let mut conn = open(&folder.file());
        let mut merges = Merges::new(&mut conn, with_thread.then(|| open(&folder.file()))).unwrap();
        let most = if with_thread { LOG_PAGES_MAX } else { MERGED_AFTER_PAGES };
        for _ in 0..40 {
            write(&conn, &mut merges);
            assert!(pages(&merges) < most + ROW_PAGES + MORE, "{} pages", pages(&merges));
        }
        assert_eq!(rows(&conn), 40);
    }
}

#[test]
fn a_little_that_is_left_is_merged_by_a_commit_and_much_by_the_thread() {
    for (left, by_commit) in [(LEFT_PAGES_MAX - 1, true), (LEFT_PAGES_MAX + 1, false)] {
        let folder = Folder::new();
        let mut conn = open(&folder.file());
        let own = open(&folder.file());
        let mut merges = Merges::new(&mut conn, None).unwrap();
        merges.due_at = i32::MAX;
        for _ in 0..5 {
            conn.execute("INSERT INTO rows VALUES (zeroblob(4096 * ?1))", [ROW_PAGES]).unwrap();
        }
        (merges.by, merges.due_at) = (By::Busy(done(own, pages(&merges) - left)), MERGED_AFTER_PAGES);
        wait(&merges);
        merges.look(&conn);
        assert_eq!(matches!(merges.by, By::Thread(_)), by_commit, "{left} pages are left");
    }
}

/// A thread that has ended with so many pages merged.
fn done(own: Connection, merged: i32) -> JoinHandle<(Connection, Option<i32>)> {
    thread::spawn(move || (own, Some(merged)))
}

#[test]
fn a_log_that_cannot_begin_anew_is_merged_again_only_once_it_has_grown() {
    let folder = Folder::new();
    let mut conn = open(&folder.file());
    let reader = open(&folder.file());
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(rows(&reader), 0);
    let mut merges = Merges::new(&mut conn, None).unwrap();
    (0..4).for_each(|_| write(&conn, &mut merges));
    let due_at = merges.due_at;
    assert!(due_at >= 2 * MERGED_AFTER_PAGES, "{due_at}");
    (0..3).for_each(|_| write(&conn, &mut merges));
    assert_eq!(merges.due_at, due_at, "a commit merges what cannot be merged");
    reader.execute_batch("COMMIT").unwrap();
    (0..3).for_each(|_| write(&conn, &mut merges));
    assert!(pages(&merges) <= 4 * (ROW_PAGES + MORE), "{}", pages(&merges));
}
