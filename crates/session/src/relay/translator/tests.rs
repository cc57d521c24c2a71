use super::*;
use serde_json::json;

const END: &[u8] = b"\x1es {\"op\":\"complete\"}\n";

/// Returns the records of one cell, and the other lines that evcxr reads.
fn translate(steps: impl FnOnce(&mut Translator)) -> (Vec<Record>, Vec<String>) {
    let mut translator = Translator::new("s");
    translator.set_ready();
    steps(&mut translator);
    translator.stdout(END);
    let output = translator.take_output();
    let (records, lines): (Vec<_>, Vec<_>) =
        output.lines().partition(|l| Record::from_line(l).is_some());
    assert_eq!(lines.last(), Some(&"EVCXR_EXECUTION_COMPLETE"));
    (
        records.into_iter().filter_map(Record::from_line).collect(),
        lines[..lines.len() - 1]
            .iter()
            .map(|&l| l.to_owned())
            .collect(),
    )
}

fn bundle(value: Value) -> MimeBundle {
    value.as_object().cloned().expect("an object")
}

fn text(stream: Stream, text: &str) -> Record {
    Record::Text {
        stream,
        text: text.to_owned(),
    }
}

#[test]
fn updates_of_a_display_are_not_limited() {
    let line = format!(
        "\x1es {{\"op\":\"update\",\"data\":{{\"text/plain\":\"{}\"}},\"id\":\"a\"}}\n",
        "x".repeat(1 << 20)
    );
    let updates = DISPLAY_LIMIT / (1 << 20) + 2;
    let (records, _) = translate(|t| (0..updates).for_each(|_| t.stdout(line.as_bytes())));
    assert_eq!(records.len(), updates);
}

#[test]
fn displays_as_json_are_limited_too() {
    let text = "x".repeat(1 << 20);
    let block = format!(
        "EVCXR_BEGIN_CONTENT application/vnd.plotly.v1+json\n{{\"data\":[\"{text}\"]}}\nEVCXR_END_CONTENT\n"
    );
    let all = DISPLAY_LIMIT / (1 << 20) + 2;
    let (records, _) = translate(|t| (0..all).for_each(|_| t.stdout(block.as_bytes())));
    // The last record is the notice.
    assert_eq!(records.len(), DISPLAY_LIMIT / (1 << 20));
    assert!(matches!(&records[records.len() - 1], Record::Text { .. }));
}

#[test]
fn before_evcxr_is_ready_its_own_marks_pass() {
    let mut translator = Translator::new("s");
    translator.stdout(b"\x1es {\"op\":\"begin\"}\n");
    translator.stdout(b"EVCXR_BEGIN_CONTENT text/plain\n42\nEVCXR_END_CONTENT\n");
    translator.stdout(END);
    assert_eq!(
        translator.take_output(),
        "EVCXR_BEGIN_CONTENT text/plain\n42\nEVCXR_END_CONTENT\nEVCXR_EXECUTION_COMPLETE\n"
    );
    // It may evaluate twice.
    translator.stdout(END);
    assert_eq!(translator.take_output(), "EVCXR_EXECUTION_COMPLETE\n");
    translator.set_ready();
    translator.stdout(b"now text");
    let line = translator.take_output();
    assert_eq!(
        Record::from_line(line.trim_end()),
        Some(text(Stream::Stdout, "now text"))
    );
}

#[test]
fn stderr_before_a_failed_question_mark_is_its_message() {
    let (records, lines) = translate(|t| {
        t.stderr(b"no ");
        t.stderr(b"GPU\n");
        t.stdout(b"EVCXR_ERROR_OCCURRED\n");
    });
    assert_eq!(records, [failed("no GPU", None)]);
    assert_eq!(lines, ["EVCXR_ERROR_OCCURRED"]);
}

#[test]
fn a_message_that_was_released_early_is_still_the_errors() {
    let (records, _) = translate(|t| {
        t.stderr(b"late\n");
        t.pause();
        t.stdout(b"EVCXR_ERROR_OCCURRED\n");
    });
    assert_eq!(records[1], failed("late", None));
}

#[test]
fn the_error_that_taper_reports_does_not_take_text_for_its_message() {
    let report = "\x1es {\"op\":\"failed\",\"message\":\"no GPU\",\"line\":7}\n";
    let (records, _) = translate(|t| {
        t.stderr(b"before\n");
        t.stdout(report.as_bytes());
        t.stdout(b"EVCXR_ERROR_OCCURRED\n");
    });
    let expected = [text(Stream::Stderr, "before\n"), failed("no GPU", Some(7))];
    assert_eq!(records, expected);
}

fn failed(message: &str, line: Option<usize>) -> Record {
    Record::Failed {
        message: message.into(),
        file: None,
        line,
    }
}

#[test]
fn what_a_thread_prints_does_not_replace_the_value() {
    let mut translator = Translator::new("s");
    translator.set_ready();
    let imitated = b"EVCXR_BEGIN_CONTENT text/plain\nimitated\nEVCXR_END_CONTENT\n";
    translator.stdout(imitated);
    translator.value("text/plain".to_owned(), "0.0".to_owned());
    translator.stdout(imitated);
    translator.complete();
    let output = translator.take_output();
    let result = output
        .lines()
        .find(|line| line.contains("\"op\":\"result\""));
    assert!(result.is_some_and(|line| line.contains("0.0")), "{output}");
}

#[test]
fn of_two_figures_of_one_type_the_last_is_the_value() {
    let figure = |i| format!("EVCXR_BEGIN_CONTENT image/svg+xml\n<svg{i}/>\nEVCXR_END_CONTENT\n");
    let (records, _) = translate(|t| {
        t.stdout(figure(1).as_bytes());
        t.stdout(figure(2).as_bytes());
    });
    let (metadata, id) = (Map::new(), None);
    assert_eq!(
        records,
        [
            Record::Display {
                data: bundle(json!({"image/svg+xml": "<svg1/>"})),
                metadata: metadata.clone(),
                id
            },
            Record::Result {
                data: bundle(json!({"image/svg+xml": "<svg2/>"})),
                metadata
            },
        ]
    );
}

#[test]
fn a_long_value_is_shortened() {
    let long = format!("{:?}", (0..5000).collect::<Vec<_>>());
    let (records, _) = translate(|t| {
        let block = format!("EVCXR_BEGIN_CONTENT text/plain\n{long}\nEVCXR_END_CONTENT\n");
        t.stdout(block.as_bytes());
    });
    let [Record::Result { data, .. }] = &records[..] else {
        panic!("{records:?}");
    };
    let text = data["text/plain"].as_str().unwrap();
    assert!(
        text.starts_with("[0, 1, 2,") && text.ends_with(" 4999]"),
        "{text}"
    );
    assert!(text.contains(" … 26890 more characters … "), "{text}");
}

#[test]
fn two_types_in_a_row_are_one_value() {
    let (records, _) = translate(|t| {
        t.stdout(b"EVCXR_BEGIN_CONTENT text/plain\n1\nEVCXR_END_CONTENT\n");
        t.stdout(b"EVCXR_BEGIN_CONTENT text/html\n<b>1</b>\nEVCXR_END_CONTENT\n");
    });
    let data = bundle(json!({"text/plain": "1", "text/html": "<b>1</b>"}));
    assert_eq!(
        records,
        [Record::Result {
            data,
            metadata: Map::new()
        }]
    );
}

#[test]
fn a_panic_is_an_error_only_if_it_ends_the_cell() {
    let panic =
        b"\x1es {\"op\":\"panic\",\"message\":\"boom\",\"file\":\"src/lib.rs\",\"line\":7}\n";
    let (ended, lines) = translate(|t| {
        t.stdout(panic);
        t.stdout(b"EVCXR_PANIC_NOTIFICATION\n");
    });
    assert!(
        matches!(&ended[..], [Record::Panic { message, line: Some(7), .. }] if message == "boom")
    );
    assert_eq!(lines, ["EVCXR_PANIC_NOTIFICATION"]);

    let (caught, _) = translate(|t| t.stdout(panic));
    assert_eq!(caught, [text(Stream::Stderr, "caught panic: boom\n")]);
}

#[test]
fn long_output_is_truncated_for_one_cell_only() {
    let mut translator = Translator::new("s");
    translator.set_ready();
    let mut kept = 0;
    for _ in 0..20 {
        translator.stdout(&vec![b'x'; 1 << 20]);
        kept += translator.take_output().len();
    }
    assert!(kept < TEXT_LIMIT + 100_000, "{kept}");
    translator.stdout(END);
    assert!(
        translator
            .take_output()
            .contains("the cell printed 21.0 MB, of which the first 8.4 MB")
    );
    translator.stdout(b"next");
    assert!(translator.take_output().contains("next"));
}

#[test]
fn a_lost_variable_is_passed_on_only_after_evcxrs_message() {
    let mark = "EVCXR_VARIABLE_CHANGED_TYPE:a";
    let (records, lines) = translate(|t| t.stdout(format!("{mark}\n").as_bytes()));
    assert_eq!(records, [text(Stream::Stdout, &format!("{mark}\n"))]);
    assert_eq!(lines, Vec::<String>::new());
    let (_, lines) = translate(|t| {
        t.stderr(b"The type of the variable a was redefined, so was lost.\n");
        t.stdout(format!("{mark}\n").as_bytes());
    });
    assert_eq!(lines, [mark]);
}

#[test]
fn a_request_for_input_follows_the_text_before_it() {
    let (records, lines) = translate(|t| {
        t.stdout(b"name?\nEVCXR_INPUT_REQUEST:> \n\x1es {\"op\":\"input\"}\n");
        t.stdout(b"\x1es {\"op\":\"input\"}\n");
    });
    assert_eq!(records, [text(Stream::Stdout, "name?\n")]);
    let requests = ["EVCXR_INPUT_REQUEST:\"> \"", "EVCXR_INPUT_REQUEST:\"\""];
    assert_eq!(lines, requests);
}

#[test]
fn a_refused_allocation_is_found_before_a_backtrace() {
    let (records, _) = translate(|t| {
        t.stderr(b"memory allocation of 1073741824 bytes failed\n");
        t.pause();
        t.stderr(b"stack backtrace:\n   0: std::alloc::rust_oom\n");
        t.pause();
        t.ended(None, Some(libc::SIGABRT));
    });
    let ended = Record::Ended(End {
        code: None,
        signal: Some(libc::SIGABRT),
        allocation: Some(1 << 30),
    });
    assert_eq!(records.last(), Some(&ended));
}
