//! Controls in a notebook: a [`slider`], and [`interact`], which shows a result that depends on controls.
//!
//! Controls are Jupyter's widgets (`@jupyter-widgets/controls`). When the user moves a slider, the kernel calls
//! [`update_widget`] between two cells; the result of the callback then replaces the content of a live display.

mod control;
mod frames;

pub(crate) use control::{new_control, show_control};

use super::Show;
use super::bundle::MimeBundle;
use super::handle::{LiveDisplay, display_live};
use crate::error::{Result, attempt, panic_text};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A control with which the user chooses a number. [`slider`] creates it, [`interact`] shows it.
#[derive(Clone, Debug)]
#[must_use = "interact(…) shows a slider"]
pub struct Slider {
    label: String,
    range: (f64, f64),
    /// The start value; `None` for the middle of the range.
    value: Option<f64>,
    step: Option<f64>,
    is_log: bool,
}

/// Creates a slider for the values of a range. The slider starts in the middle of the range.
///
/// ```
/// use taper::prelude::*;
///
/// let noise = slider("noise", 0.0..=1.0).step(0.1);
/// assert_eq!(noise.get(), 0.5);
/// ```
pub fn slider(label: impl Into<String>, range: RangeInclusive<f64>) -> Slider {
    let (low, high) = range.into_inner();
    Slider {
        label: label.into(),
        range: (low.min(high), low.max(high)),
        value: None,
        step: None,
        is_log: false,
    }
}

impl Slider {
    setters! {
        /// Sets the distance between two values; the default is a hundredth of the range.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let epochs = slider("epochs", 1.0..=10.0).step(1.0).value(3.0);
        /// assert_eq!(epochs.get(), 3.0);
        /// ```
        pub fn step(self, step: f64): self.step = Some(step);

        /// Sets the value at which the slider starts.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(slider("momentum", 0.0..=1.0).value(0.9).get(), 0.9);
        /// ```
        pub fn value(self, value: f64): self.value = Some(value.clamp(self.range.0, self.range.1));

        /// Makes the scale of the slider logarithmic (equal distances are equal ratios), as for a learning rate.
        /// Without a [`value`](Self::value), the slider then starts at the geometric mean of the range. Both ends of
        /// the range must be positive, otherwise the slider stays linear.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let lr = slider("lr", 1e-4..=1.0).log();
        /// assert!((lr.get() - 0.01).abs() < 1e-9);
        /// ```
        pub fn log(self): self.is_log = self.range.0 > 0.0;
    }

    /// Returns the value at which the slider starts.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(slider("x", 0.0..=4.0).get(), 2.0);
    /// ```
    pub fn get(&self) -> f64 {
        let (low, high) = self.range;
        self.value.unwrap_or(match self.is_log {
            true => low.sqrt() * high.sqrt(),
            false => low / 2.0 + high / 2.0,
        })
    }

    /// Returns the ends of the scale: of a logarithmic one, their exponents.
    fn ends(&self) -> (f64, f64) {
        match self.is_log {
            true => (self.range.0.log10(), self.range.1.log10()),
            false => self.range,
        }
    }

    /// Returns the distance of two positions on the scale.
    fn step_size(&self) -> f64 {
        let (low, high) = self.ends();
        self.step.unwrap_or((high - low) / 100.0)
    }

    /// Returns the name of the widget.
    fn kind(&self) -> &'static str {
        match self.is_log {
            true => "FloatLogSlider",
            false => "FloatSlider",
        }
    }

    /// Returns what the state has beside the state of all controls.
    fn state(&self) -> Value {
        let (low, high) = self.ends();
        json!({
            "base": 10.0,
            "behavior": "drag-tap",
            "continuous_update": true,
            "description": self.label,
            "max": high,
            "min": low,
            "orientation": "horizontal",
            "readout": true,
            "readout_format": ".3g",
            "step": self.step_size(),
            "value": self.get(),
        })
    }

    /// Shows the slider and returns its id.
    fn show(&self) -> String {
        let id = new_control(self.kind(), |_| self.state());
        let text = format!("{} = {}", self.label, self.get());
        show_control(&id, MimeBundle::text(text));
        id
    }
}

/// One slider, an array of sliders, or a [`drawing`](crate::plot::drawing).
pub trait Controls {
    /// The type that the callback receives: `f64`, an array of `f64`, or a tensor.
    type Values: 'static;

    /// Shows the controls; returns the id and the first values of each, in order.
    #[doc(hidden)]
    fn show_controls(&self) -> Vec<(String, Vec<f64>)> {
        shown(self.sliders())
    }

    /// Returns the sliders in order.
    #[doc(hidden)]
    fn sliders(&self) -> &[Slider] {
        &[]
    }

    /// Converts the values of all controls to the type that the callback receives.
    #[doc(hidden)]
    fn values(all: &[f64]) -> Self::Values;
}

/// Shows sliders. A function without generics, so that a cell does not compile it.
fn shown(sliders: &[Slider]) -> Vec<(String, Vec<f64>)> {
    let sliders = sliders.iter();
    sliders.map(|it| (it.show(), vec![it.get()])).collect()
}

impl Controls for Slider {
    type Values = f64;

    fn sliders(&self) -> &[Slider] {
        std::slice::from_ref(self)
    }

    fn values(all: &[f64]) -> f64 {
        all[0]
    }
}

impl<const N: usize> Controls for [Slider; N] {
    type Values = [f64; N];

    fn sliders(&self) -> &[Slider] {
        self
    }

    fn values(all: &[f64]) -> [f64; N] {
        std::array::from_fn(|i| all[i])
    }
}

/// Shows controls and, below them, the value that `callback` returns for their values. Calls `callback` again
/// whenever the user has moved a slider or drawn something.
///
/// The callback runs between cells. An interrupt stops a callback that checks for it ([`check_interrupt`]), and an
/// error or a panic is shown in place of the result. Of many moves in a row, only the last one is used. Notebook
/// files keep the last result.
///
/// [`check_interrupt`]: super::check_interrupt
///
/// ```
/// use taper::prelude::*;
///
/// interact(slider("frequency", 1.0..=9.0), |frequency| {
///     let xs = linspace(0.0, 6.3, 200);
///     Ok(plot(&xs, &[&(&xs * frequency).sin()]))
/// });
/// interact([slider("a", 0.0..=1.0), slider("b", 0.0..=1.0)], |[a, b]| {
///     assert_eq!((a, b), (0.5, 0.5));
///     Ok(a + b)
/// });
/// ```
pub fn interact<C: Controls, R: Show>(
    controls: C,
    mut callback: impl FnMut(C::Values) -> Result<R> + 'static,
) {
    let run = move |values: &[f64]| {
        let value = callback(C::values(values))?;
        Ok(value.show_bundle())
    };
    begin(controls.show_controls(), controls.sliders(), Box::new(run));
}

fn begin(shown: Vec<(String, Vec<f64>)>, sliders: &[Slider], callback: Callback) {
    let mut controls = Vec::new();
    let mut values = Vec::new();
    for (id, own) in shown {
        controls.push((id, values.len()..values.len() + own.len()));
        values.extend(own);
    }
    let mut run: Run = Box::new(bundles(callback));
    let first = run(&values);
    let display = display_live(&frames::added(first, sliders, &mut run));
    let interaction = Interaction {
        controls,
        values,
        run,
        display,
    };
    INTERACTIONS.with_borrow_mut(|all| all.push(Rc::new(RefCell::new(interaction))));
}

/// Returns a function that shows what the callback returns, its error, or its panic.
fn bundles(mut callback: Callback) -> impl FnMut(&[f64]) -> MimeBundle {
    move |values| {
        let result = catch_unwind(AssertUnwindSafe(|| attempt(|| callback(values)).flatten()));
        match result {
            Ok(Ok(bundle)) => bundle,
            Ok(Err(error)) => MimeBundle::text(format!("Error: {error}")),
            Err(panic) => {
                let text = panic_text(&*panic).unwrap_or("the panic has no message");
                MimeBundle::text(format!("Panic: {text}"))
            }
        }
    }
}

/// A callback of [`interact`], for the values of its controls.
type Callback = Box<dyn FnMut(&[f64]) -> Result<MimeBundle>>;

/// The same, but with the bundle of an error or a panic.
type Run = Box<dyn FnMut(&[f64]) -> MimeBundle>;

/// The controls of one [`interact`], with their callback and the display of its result.
struct Interaction {
    /// The ids, each with the places of its values.
    controls: Vec<(String, Range<usize>)>,
    values: Vec<f64>,
    run: Run,
    display: LiveDisplay,
}

thread_local! {
    /// All interactions. They stay in the thread that runs the cells, since a callback need not be `Send`.
    static INTERACTIONS: RefCell<Vec<Rc<RefCell<Interaction>>>> = const { RefCell::new(Vec::new()) };
}

/// Runs the callback of the control with this id, which has this value: one or more floating-point numbers with spaces
/// between them. The kernel calls it; an id from before a restart is ignored, and what is not a number is 0.
#[doc(hidden)]
pub fn update_widget(id: &str, value: &str) {
    let all = INTERACTIONS.with_borrow(Vec::clone);
    for interaction in all {
        let Ok(mut interaction) = interaction.try_borrow_mut() else {
            continue;
        };
        let of_id = interaction.controls.iter().find(|(one, _)| one == id);
        if let Some(places) = of_id.map(|(_, places)| places.clone()) {
            let mut numbers = value.split_whitespace().map(str::parse::<f64>);
            let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
            interaction.values[places].fill_with(&mut next);
            let Interaction {
                values,
                run,
                display,
                ..
            } = &mut *interaction;
            display.update(&run(values));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::control::VIEW;
    use super::*;
    use crate::error::explain;
    use crate::notebook::hooks::taper_flush;
    use crate::notebook::testing::records;
    use crate::tensor::zeros;

    #[test]
    fn the_order_of_a_sliders_settings_does_not_matter() {
        let lr = || slider("lr", 1e-4..=1.0);
        assert_eq!(lr().value(0.1).log().get(), 0.1);
        assert_eq!(lr().log().value(0.1).get(), 0.1);
        assert_eq!(lr().value(0.1).log().state()["value"], 0.1);
        assert_eq!(slider("x", 0.0..=4.0).log().get(), 2.0, "it stays linear");
    }

    #[test]
    fn a_slider_is_shown_and_its_moves_update_the_display() {
        let test = "notebook::widget::tests::a_slider_is_shown_and_its_moves_update_the_display";
        let all = records(test, || {
            interact(slider("lr", 0.001..=1.0).log(), |lr| match lr {
                2.0 => panic!("too large"),
                3.0 => Err(explain("not a rate", "choose another")),
                4.0 => Ok(zeros(2).i(2).item()),
                _ => Ok(lr * 2.0),
            });
            let id = INTERACTIONS.with_borrow(|all| all[0].borrow().controls[0].0.clone());
            for value in ["0.5", "2", "3", "4"] {
                update_widget(&id, value);
                taper_flush();
            }
            update_widget("unknown", "1");
        });
        let [widget, view, shown, first, panic, second, third, fourth] = &all[..] else {
            panic!("{all:#?}");
        };
        assert_eq!(widget["event"], "widget");
        assert_eq!(widget["state"]["_model_name"], "FloatLogSliderModel");
        assert_eq!(widget["state"]["min"], -3.0);
        assert_eq!(view["data"][VIEW]["model_id"], widget["id"]);
        assert_eq!(shown["event"], "display");
        let text = |record: &Value| {
            assert_eq!(
                (&record["event"], &record["display_id"]),
                (&json!("update_display"), &shown["display_id"])
            );
            record["data"]["text/plain"].as_str().unwrap().to_owned()
        };
        assert_eq!(text(first), "1.0");
        assert_eq!(panic["event"], "panic");
        assert_eq!(text(second), "Panic: too large");
        assert_eq!(text(third), "Error: not a rate\nchoose another");
        assert!(text(fourth).starts_with("Error: i: index 2 is out of range"));
    }
}
