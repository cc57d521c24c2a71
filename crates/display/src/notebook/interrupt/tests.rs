use super::*;
use crate::notebook::hooks::taper_begin_cell;
use crate::notebook::testing::records;

#[test]
fn an_interrupt_ends_the_work_that_checks_for_it_but_not_the_next_cell() {
    let records = records(
        "notebook::interrupt::tests::an_interrupt_ends_the_work_that_checks_for_it_but_not_the_next_cell",
        || {
            assert!(check_interrupt().is_ok());
            // SAFETY: `raise` has no preconditions, and the signal has a handler.
            unsafe { libc::raise(libc::SIGINT) };
            let error = check_interrupt().unwrap_err().to_string();
            assert!(error.starts_with("interrupted: "), "{error}");
            assert_eq!(error.lines().count(), 2);
            taper_begin_cell();
            assert!(check_interrupt().is_ok());
        },
    );
    assert!(records.is_empty());
}

#[test]
fn a_cell_that_was_left_to_its_thread_stays_interrupted() {
    let records = records(
        "notebook::interrupt::tests::a_cell_that_was_left_to_its_thread_stays_interrupted",
        || {
            let next = std::thread::spawn(|| {
                crate::notebook::hooks::taper_attach();
                taper_begin_cell();
                interrupted()
            });
            assert!(!next.join().unwrap());
            assert!(interrupted() && !crate::notebook::cell::is_cell_thread());
        },
    );
    assert!(records.is_empty());
}
