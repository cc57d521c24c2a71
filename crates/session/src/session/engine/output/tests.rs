use super::*;
use serde_json::json;

/// Returns the pieces of one cell.
fn pieces(steps: impl FnOnce(&mut Output)) -> Vec<Piece> {
    let mut output = Output::new("s");
    steps(&mut output);
    output.complete();
    output.take()
}

/// Returns the records of one cell.
fn records(steps: impl FnOnce(&mut Output)) -> Vec<Record> {
    let record = |piece| match piece {
        Piece::Record(record) => record,
        Piece::Input(prompt) => panic!("{prompt:?}"),
    };
    pieces(steps).into_iter().map(record).collect()
}

fn bundle(value: Value) -> MimeBundle {
    value.as_object().cloned().expect("an object")
}

fn text(stream: Stream, text: &str) -> Record {
    let text = text.to_owned();
    Record::Text { stream, text }
}

fn failed(message: &str, line: Option<usize>) -> Record {
    Record::Failed {
        message: message.into(),
        file: None,
        line,
    }
}

#[test]
fn updates_of_a_display_are_not_limited() {
    let line = format!(
        "\x1es {{\"op\":\"update\",\"data\":{{\"text/plain\":\"{}\"}},\"id\":\"a\"}}\n",
        "x".repeat(1 << 20)
    );
    let updates = DISPLAY_LIMIT / (1 << 20) + 2;
    let records = records(|output| (0..updates).for_each(|_| output.stdout(&line)));
    assert_eq!(records.len(), updates);
}

#[test]
fn displays_as_json_are_limited_too() {
    let text = "x".repeat(1 << 20);
    let block = format!(
        "EVCXR_BEGIN_CONTENT application/vnd.plotly.v1+json\n{{\"data\":[\"{text}\"]}}\nEVCXR_END_CONTENT\n"
    );
    let all = DISPLAY_LIMIT / (1 << 20) + 2;
    let records = records(|output| (0..all).for_each(|_| output.stdout(&block)));
    // The last record is the notice.
    assert_eq!(records.len(), DISPLAY_LIMIT / (1 << 20));
    assert!(matches!(&records[records.len() - 1], Record::Text { .. }));
}

#[test]
fn the_error_that_taper_reports_has_its_advice() {
    let report = "\x1es {\"op\":\"failed\",\"message\":\"no GPU\",\"line\":7}\n";
    let own = failed("no GPU (of the engine)", None);
    let found = records(|output| {
        output.stderr("before\n");
        output.stdout(report);
        output.ended_with(own.clone());
    });
    let expected = [text(Stream::Stderr, "before\n"), failed("no GPU", Some(7))];
    assert_eq!(found, expected);
    let found = records(|output| output.ended_with(own.clone()));
    assert_eq!(found, [own]);
}

#[test]
fn what_a_thread_prints_does_not_replace_the_value() {
    let imitated = "EVCXR_BEGIN_CONTENT text/plain\nimitated\nEVCXR_END_CONTENT\n";
    let records = records(|output| {
        output.stdout(imitated);
        output.value("text/plain".to_owned(), "0.0".to_owned());
        output.stdout(imitated);
    });
    let metadata = Map::new();
    let data = bundle(json!({"text/plain": "0.0"}));
    assert_eq!(records.last(), Some(&Record::Result { data, metadata }));
}

#[test]
fn of_two_figures_of_one_type_the_last_is_the_value() {
    let figure = |i| format!("EVCXR_BEGIN_CONTENT image/svg+xml\n<svg{i}/>\nEVCXR_END_CONTENT\n");
    let records = records(|output| {
        output.stdout(&figure(1));
        output.stdout(&figure(2));
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
    let records = records(|output| output.value("text/plain".to_owned(), long));
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
    let records = records(|output| {
        output.stdout("EVCXR_BEGIN_CONTENT text/plain\n1\nEVCXR_END_CONTENT\n");
        output.stdout("EVCXR_BEGIN_CONTENT text/html\n<b>1</b>\nEVCXR_END_CONTENT\n");
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
fn a_panic_that_does_not_end_the_cell_is_text() {
    let panic =
        "\x1es {\"op\":\"panic\",\"message\":\"boom\",\"file\":\"src/lib.rs\",\"line\":7}\n";
    let caught = records(|output| output.stdout(panic));
    assert_eq!(caught, [text(Stream::Stderr, "caught panic: boom\n")]);
}

#[test]
fn long_output_is_truncated_for_one_cell_only() {
    let mut output = Output::new("s");
    let all = |output: &mut Output| {
        let text = |piece| match piece {
            Piece::Record(Record::Text { text, .. }) => Some(text),
            _ => None,
        };
        output
            .take()
            .into_iter()
            .filter_map(text)
            .collect::<String>()
    };
    let mut kept = 0;
    for _ in 0..20 {
        output.stdout(&"x".repeat(1 << 20));
        kept += all(&mut output).len();
    }
    assert!(kept < TEXT_LIMIT + 100_000, "{kept}");
    output.complete();
    assert!(all(&mut output).contains("the cell printed 21.0 MB, of which the first 8.4 MB"));
    output.stdout("next");
    assert_eq!(all(&mut output), "next");
}

#[test]
fn a_request_for_input_follows_the_text_before_it() {
    let request = "\x1es {\"op\":\"input\"}\n";
    let pieces = pieces(|output| {
        output.stdout(&format!("name?\nEVCXR_INPUT_REQUEST:> \n{request}"));
        output.stdout(request);
    });
    let prompt = |text: &str| {
        Piece::Input(Prompt {
            text: text.to_owned(),
            password: false,
        })
    };
    let printed = Piece::Record(text(Stream::Stdout, "name?\n"));
    assert_eq!(pieces, [printed, prompt("> "), prompt("")]);
}

#[test]
fn an_unfinished_line_is_the_prompt() {
    let request = "\x1es {\"op\":\"input\"}\n";
    let prompts = |printed: &[&str]| {
        let all = pieces(|output| printed.iter().for_each(|text| output.stdout(text)));
        let prompts = all.into_iter().filter_map(|piece| match piece {
            Piece::Input(prompt) => Some(prompt.text),
            Piece::Record(_) => None,
        });
        prompts.collect::<Vec<_>>()
    };
    assert_eq!(
        prompts(&["Welcome\nYour ", "name: ", request]),
        ["Your name: "]
    );
    assert_eq!(prompts(&["name: ", request, request]), ["name: ", ""]);
    assert_eq!(prompts(&["name:\n", request]), [""]);
}

#[test]
fn a_refused_allocation_is_found_before_a_backtrace() {
    let mut output = Output::new("s");
    for part in ["memory allocation of ", "1073741824", " bytes failed\n"] {
        output.stderr(part);
    }
    output.stderr("stack backtrace:\n   0: std::alloc::rust_oom\n");
    output.ended(&End {
        signal: Some(libc::SIGABRT),
        ..End::default()
    });
    let ended = Record::Ended(End {
        code: None,
        signal: Some(libc::SIGABRT),
        allocation: Some(1 << 30),
    });
    assert_eq!(output.take().pop(), Some(Piece::Record(ended)));
}
