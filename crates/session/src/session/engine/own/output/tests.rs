use super::*;
use serde_json::json;

/// Returns the events of one cell.
fn events(steps: impl FnOnce(&mut Output)) -> Vec<Event> {
    let mut output = Output::default();
    steps(&mut output);
    output.complete();
    output.take()
}

fn print(output: &mut Output, printed: &str) {
    output.event(text(Stream::Stdout, printed));
}

fn bundle(value: Value) -> MimeBundle {
    value.as_object().cloned().expect("an object")
}

fn text(stream: Stream, text: &str) -> Event {
    let text = text.to_owned();
    Event::Text { stream, text }
}

#[test]
fn updates_of_a_display_are_not_limited() {
    let update = Event::UpdateDisplay {
        data: bundle(json!({"text/plain": "x".repeat(1 << 20)})),
        metadata: Map::new(),
        display_id: "a".to_owned(),
    };
    let updates = DISPLAY_LIMIT / (1 << 20) + 2;
    let events = events(|output| (0..updates).for_each(|_| output.event(update.clone())));
    assert_eq!(events.len(), updates);
}

#[test]
fn displays_as_json_are_limited_too() {
    let text = "x".repeat(1 << 20);
    let block = format!(
        "EVCXR_BEGIN_CONTENT application/vnd.plotly.v1+json\n{{\"data\":[\"{text}\"]}}\nEVCXR_END_CONTENT\n"
    );
    let all = DISPLAY_LIMIT / (1 << 20) + 2;
    let events = events(|output| (0..all).for_each(|_| print(output, &block)));
    // The last event is the notice.
    assert_eq!(events.len(), DISPLAY_LIMIT / (1 << 20));
    assert!(matches!(&events[events.len() - 1], Event::Text { .. }));
}

#[test]
fn a_figure_ends_a_block_that_has_no_end() {
    let block = "EVCXR_BEGIN_CONTENT text/plain\nno end";
    let figure = Event::Display {
        data: bundle(json!({"text/plain": "a figure"})),
        metadata: Map::new(),
        display_id: None,
    };
    let found = events(|output| {
        print(output, block);
        output.event(figure.clone());
    });
    assert_eq!(found, [text(Stream::Stdout, block), figure]);
}

#[test]
fn what_a_thread_prints_does_not_replace_the_value() {
    let imitated = "EVCXR_BEGIN_CONTENT text/plain\nimitated\nEVCXR_END_CONTENT\n";
    let events = events(|output| {
        print(output, imitated);
        output.value("text/plain".to_owned(), "0.0".to_owned());
        print(output, imitated);
    });
    let metadata = Map::new();
    let data = bundle(json!({"text/plain": "0.0"}));
    assert_eq!(events.last(), Some(&Event::Result { data, metadata }));
}

#[test]
fn of_two_figures_of_one_type_the_last_is_the_value() {
    let figure = |i| format!("EVCXR_BEGIN_CONTENT image/svg+xml\n<svg{i}/>\nEVCXR_END_CONTENT\n");
    let events = events(|output| {
        print(output, &figure(1));
        print(output, &figure(2));
    });
    let (metadata, display_id) = (Map::new(), None);
    assert_eq!(
        events,
        [
            Event::Display {
                data: bundle(json!({"image/svg+xml": "<svg1/>"})),
                metadata: metadata.clone(),
                display_id
            },
            Event::Result {
                data: bundle(json!({"image/svg+xml": "<svg2/>"})),
                metadata
            },
        ]
    );
}

#[test]
fn a_long_value_is_shortened() {
    let long = format!("{:?}", (0..5000).collect::<Vec<_>>());
    let events = events(|output| output.value("text/plain".to_owned(), long));
    let [Event::Result { data, .. }] = &events[..] else {
        panic!("{events:?}");
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
    let events = events(|output| {
        print(
            output,
            "EVCXR_BEGIN_CONTENT text/plain\n1\nEVCXR_END_CONTENT\n",
        );
        print(
            output,
            "EVCXR_BEGIN_CONTENT text/html\n<b>1</b>\nEVCXR_END_CONTENT\n",
        );
    });
    let data = bundle(json!({"text/plain": "1", "text/html": "<b>1</b>"}));
    assert_eq!(
        events,
        [Event::Result {
            data,
            metadata: Map::new()
        }]
    );
}

#[test]
fn long_output_is_truncated_for_one_cell_only() {
    let mut output = Output::default();
    let all = |output: &mut Output| {
        let text = |event| match event {
            Event::Text { text, .. } => Some(text),
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
        print(&mut output, &"x".repeat(1 << 20));
        kept += all(&mut output).len();
    }
    assert!(kept < TEXT_LIMIT + 100_000, "{kept}");
    output.complete();
    assert!(all(&mut output).contains("the cell printed 21.0 MB, of which the first 8.4 MB"));
    print(&mut output, "next");
    assert_eq!(all(&mut output), "next");
}

#[test]
fn evcxrs_prompt_is_for_one_line() {
    let mut output = Output::default();
    print(&mut output, "name?\nEVCXR_INPUT_REQUEST:> \n");
    assert_eq!(output.prompt().text, "> ");
    assert_eq!(output.prompt(), Prompt::default());
    print(&mut output, "EVCXR_INPUT_REQUEST_PASSWORD:tea: \n");
    let prompt = output.prompt();
    assert!(prompt.text == "tea: " && prompt.password, "{prompt:?}");
    assert_eq!(output.take(), [text(Stream::Stdout, "name?\n")]);
}

#[test]
fn an_unfinished_line_is_the_prompt() {
    let mut output = Output::default();
    print(&mut output, "Welcome\nYour ");
    print(&mut output, "NAME");
    assert_eq!(output.prompt().text, "Your NAME");
    assert_eq!(output.prompt().text, "");
    print(&mut output, "name:\n");
    assert_eq!(output.prompt().text, "");
}

#[test]
fn a_refused_allocation_is_found_before_a_backtrace() {
    let mut output = Output::default();
    for part in ["memory allocation of ", "1073741824", " bytes failed\n"] {
        output.event(text(Stream::Stderr, part));
    }
    let trace = "stack backtrace:\n   0: std::alloc::rust_oom\n";
    output.event(text(Stream::Stderr, trace));
    let end = output.ended(End {
        signal: Some(libc::SIGABRT),
        ..End::default()
    });
    assert_eq!(end.allocation, Some(1 << 30));
}
