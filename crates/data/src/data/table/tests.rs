use super::*;
use crate::notebook::Show;
use crate::tensor::tensor;

fn table(text: &str) -> DataFrame {
    DataFrame::from_csv(text).unwrap()
}

fn refusal(text: &str) -> String {
    let message = DataFrame::from_csv(text).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 2, "{message}");
    message
}

#[test]
fn quotes_line_breaks_and_endings_are_read() {
    let same = table("a,b\n\"x, \"\"y\"\"\nz\",2\n");
    assert_eq!(same.texts("a").unwrap(), ["x, \"y\"\nz"]);
    assert_eq!(same.values("b").unwrap(), [2.0]);
    for text in [
        "\u{feff}a,b\r\n1,\r\n\r\n3,4",
        "a,b\n1,\n3,4\n\n",
        "a,b\r1,\r3,4\r\r",
    ] {
        let table = table(text);
        assert_eq!(table.num_rows(), 2);
        assert_eq!(table.values("a").unwrap(), [1.0, 3.0]);
        assert!(table.values("b").unwrap()[0].is_nan());
    }
    assert_eq!(table("a\n\"\"\n").num_rows(), 1);
    assert_eq!(table("a,b").num_rows(), 0);
}

#[test]
fn invalid_csv_is_refused() {
    assert!(refusal("").contains("found an empty text"));
    assert!(refusal("a,a\n").contains("found \"a\" twice"));
    assert!(refusal("a\n\"1\n2\n").contains("begins in line 2"));
    assert!(refusal("a\n\"1\n\"\n1,2\n").contains("1 fields in line 4"));
    assert!(refusal("a,b\r1\r").contains("2 fields in line 2"));
    assert!(refusal("a\n\0\n").contains("found a zero byte at 2"));
}

/// Comparing each name with all before it took minutes.
#[test]
fn hundreds_of_thousands_of_columns_are_read() {
    let names: Vec<String> = (0..300_000).map(|i| format!("c{i}")).collect();
    let text = format!("{}\n{}1\n", names.join(","), "1,".repeat(299_999));
    assert_eq!(table(&text).columns().len(), 300_000);
}

#[test]
fn a_file_that_is_no_text_in_utf_8_is_refused_with_its_encoding() {
    let path = std::env::temp_dir().join(format!("taper_csv_{}", std::process::id()));
    let utf_16: Vec<u8> = "\u{feff}a,b\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, found) in [
        (utf_16.as_slice(), "in UTF-16"),
        (b"a\xff\n", "invalid utf-8"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let message = DataFrame::read_csv(&path).unwrap_err().to_string();
        assert!(
            message.contains(found) && message.contains("in UTF-8"),
            "{message}"
        );
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn unknown_columns_and_columns_of_texts_are_refused() {
    let table = table("x,y\n1,a\n");
    for message in [
        table.values("z").unwrap_err(),
        table.values("y").unwrap_err(),
        table.drop(&["z"]).unwrap_err(),
        table.select(&["z"]).unwrap_err(),
        table.to_tensor().unwrap_err(),
        table.concat(&table.drop(&["x"]).unwrap()).unwrap_err(),
    ] {
        assert_eq!(message.to_string().lines().count(), 2, "{message}");
    }
}

#[test]
fn values_and_texts_of_two_tables_become_texts() {
    let both = table("x\n1\n").concat(&table("x\na\n")).unwrap();
    assert_eq!(both.texts("x").unwrap(), ["1", "a"]);
    let both = table("x\n1\n").concat(&table("x\nNA\n")).unwrap();
    assert_eq!(both.fill_missing(5.0).values("x").unwrap(), [1.0, 5.0]);
}

#[test]
fn standardising_leaves_constants_and_missing_columns_finite() {
    let table = table("constant,none,x\n3,,1\n3,,2\n3,,3\n").standardize();
    assert_eq!(table.values("constant").unwrap(), [0.0; 3]);
    assert_eq!(table.values("x").unwrap(), [-1.0, 0.0, 1.0]);
    let filled = table.fill_missing_with_mean().to_tensor().unwrap();
    let expected = tensor(&[[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(filled.to_vec2::<f32>(), expected.to_vec2::<f32>());
}

#[test]
fn a_table_shows_its_rows() {
    assert_eq!(
        table("x,name\n10,a\n,b\n").show_text(),
        " x  name\n10  a\n    b"
    );
}

#[test]
fn rows_are_taken_filtered_and_grouped() {
    let table = table("x,kind,y\n2,b,1\n-1,a,3\n,b,5\n2,,\n");
    assert_eq!(table.head(9), table);
    assert_eq!(table.head(0).num_rows(), 0);
    assert_eq!(table.head(0).columns(), table.columns());
    assert_eq!(table.filter("x", |x| x > 0.0).unwrap().num_rows(), 2);
    let named = table.filter_texts("kind", |kind| !kind.is_empty()).unwrap();
    assert_eq!(named, table.rows(0..3).unwrap());
    let by_x = table.group_mean("x").unwrap();
    assert_eq!(by_x.columns(), ["x", "y"]);
    assert_eq!(by_x.values("x").unwrap(), [-1.0, 2.0]);
    assert_eq!(by_x.values("y").unwrap(), [3.0, 1.0]);
    let by_kind = table.group_mean("kind").unwrap();
    assert_eq!(by_kind.texts("kind").unwrap(), ["a", "b"]);
    assert_eq!(by_kind.values("y").unwrap(), [3.0, 3.0]);
    assert_eq!(table.head(0).group_mean("x").unwrap().num_rows(), 0);
    for error in [
        table.rows(2..5).unwrap_err(),
        table.filter("kind", |_| true).unwrap_err(),
        table.group_mean("z").unwrap_err(),
    ] {
        assert_eq!(error.to_string().lines().count(), 2, "{error}");
    }
    assert_eq!(table.rows(3..3).unwrap().num_rows(), 0);
}

#[test]
fn the_test_part_is_standardised_as_the_training_part() {
    let (train, test) = (
        table("x,name\n1,a\n3,b\n5,c\n"),
        table("x,name\n7,d\nNA,e\n"),
    );
    let scaled = test.standardize_by(&train).unwrap();
    assert_eq!(scaled.values("x").unwrap()[0], 2.0);
    let filled = test.fill_missing_with_mean_of(&train).unwrap();
    assert_eq!(filled.values("x").unwrap(), [7.0, 3.0]);
    assert_eq!(train.standardize_by(&train).unwrap(), train.standardize());
    for other in [train.drop(&["x"]).unwrap(), table("x\nzero\n")] {
        let message = test.standardize_by(&other).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
    }
}

#[test]
fn missing_entries_are_recognised_between_spaces_and_nan_in_any_spelling() {
    for missing in [
        " NaN", "NaN ", " NA", "\" NA\"", " ", "NAN", "-nan", " null ",
    ] {
        let table = table(&format!("x,name\n1,a\n{missing},b\n"));
        assert_eq!(
            table.fill_missing(0.0).values("x").unwrap(),
            [1.0, 0.0],
            "{missing:?}"
        );
    }
    // Where texts are, NaN is a text unless it is spelled as a missing entry.
    let table = table("name\na\n NA\nNAN\n");
    assert_eq!(table.texts("name").unwrap(), ["a", "", "NAN"]);
}

#[test]
fn one_hot_columns_have_different_names() {
    let columns = |text: &str| -> Vec<String> {
        let table = table(text).one_hot();
        table.columns().into_iter().map(str::to_owned).collect()
    };
    let names = columns("roof\nmissing\nNA\n");
    assert_eq!(names, ["roof_missing", "roof_missing_2"]);
    let names = columns("a,a_b,a_b_c\nb_c,c,1\nb_c,c,2\n");
    assert_eq!(names, ["a_b_c_2", "a_b_c_3", "a_b_c"]);
    let table = table("roof\nmissing\nNA\n").one_hot();
    assert_eq!(table.values("roof_missing").unwrap(), [1.0, 0.0]);
    assert_eq!(table.values("roof_missing_2").unwrap(), [0.0, 1.0]);
}

#[test]
fn json_lines_are_rows() {
    let text = "\u{feff}{\"b\": 1, \"a\": \"x, \\\"y\\\"\"}\r\n\n{\"c\": true, \"b\": \"2.5\"}\n{\"b\": null, \"c\": {\"d\": [1]}}";
    let table = DataFrame::from_json_lines(text).unwrap();
    assert_eq!(
        (table.columns(), table.num_rows()),
        (vec!["a", "b", "c"], 3)
    );
    assert_eq!(table.texts("a").unwrap(), ["x, \"y\"", "", ""]);
    assert_eq!(
        table.fill_missing(0.0).values("b").unwrap(),
        [1.0, 2.5, 0.0]
    );
    assert_eq!(table.texts("c").unwrap(), ["", "true", "{\"d\":[1]}"]);
    let empty = DataFrame::from_json_lines("\n").unwrap();
    assert_eq!((empty.columns().len(), empty.num_rows()), (0, 0));
}

#[test]
fn lines_that_are_not_objects_are_refused() {
    let refusal = |text: &str| {
        let message = DataFrame::from_json_lines(text).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
        message
    };
    for line in [
        "[1, 2]",
        "3",
        "{\"x\": 1",
        "{\"x\": NaN}",
        "{\"x\": 1} {\"x\": 2}",
    ] {
        let message = refusal(&format!("{{\"x\": 0}}\n{line}\n"));
        assert!(
            message.starts_with("the table: expected a JSON object in line 2, found "),
            "{message}"
        );
    }
    let sparse: String = (0..2000).map(|i| format!("{{\"{i}\": 1}}\n")).collect();
    assert!(refusal(&sparse).contains("expected objects with the same names"));
}
