//! A chart as SVG: scales, ticks and the places of marks. Colours are classes, which the style of
//! the page gives for light and dark; each mark says its values in attributes and in its title.

use serde::Serialize;

/// The drawing in its own units, of which a character is about 11 high.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// How values become places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear,
    Log,
    /// Values are 0, 1, 2, ..., each in the middle of its band.
    Band(usize),
}

/// An axis before its range is known.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: String,
    pub scale: Scale,
    /// The names of bands.
    pub bands: Vec<String>,
    /// What ticks read.
    pub format: fn(f64) -> String,
    /// The range, if the values shall not give it.
    pub range: Option<(f64, f64)>,
}

/// A value in a chart.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub x: f64,
    pub y: f64,
    /// The series, which gives shape and colour.
    pub series: usize,
    /// What it stands for.
    pub id: String,
    pub title: String,
    /// Further classes: `front`, `chosen`, `faint`, `off`.
    pub class: String,
}

/// A line through some values.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub points: Vec<(f64, f64)>,
    pub series: Option<usize>,
    pub class: String,
}

/// A bar from the lower edge.
#[derive(Clone, Debug)]
pub struct Bar {
    pub x: f64,
    pub y: f64,
    pub id: String,
    pub title: String,
}

/// A word in the plot.
#[derive(Clone, Debug)]
pub struct Note {
    pub x: f64,
    pub y: f64,
    pub text: String,
    /// To the left of its place instead of the right.
    pub left: bool,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    pub id: String,
    pub title: String,
    /// One sentence that says what is seen.
    pub description: String,
    pub x: Axis,
    pub y: Axis,
    /// Names of the series.
    pub series: Vec<String>,
    pub marks: Vec<Mark>,
    pub lines: Vec<Line>,
    pub bars: Vec<Bar>,
    pub notes: Vec<Note>,
}

/// A chart with everything in its place, for the template.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    id: String,
    title: String,
    description: String,
    width: f64,
    height: f64,
    plot: Rectangle,
    x_label: String,
    y_label: String,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    legend: Vec<Legend>,
    marks: Vec<DrawnMark>,
    lines: Vec<DrawnLine>,
    bars: Vec<DrawnBar>,
    notes: Vec<DrawnNote>,
}

#[derive(Clone, Debug, Serialize)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Tick {
    at: f64,
    text: String,
}

#[derive(Clone, Debug, Serialize)]
struct Legend {
    name: String,
    series: usize,
    shape: String,
}

#[derive(Clone, Debug, Serialize)]
struct DrawnMark {
    x: f64,
    y: f64,
    shape: String,
    class: String,
    data_x: f64,
    data_y: f64,
    id: String,
    title: String,
}

#[derive(Clone, Debug, Serialize)]
struct DrawnLine {
    path: String,
    class: String,
}

#[derive(Clone, Debug, Serialize)]
struct DrawnBar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    data_x: f64,
    data_y: f64,
    id: String,
    title: String,
}

#[derive(Clone, Debug, Serialize)]
struct DrawnNote {
    x: f64,
    y: f64,
    text: String,
    anchor: &'static str,
}

/// The shapes of the series, so that colour is not all that tells them apart.
const SHAPES: [&str; 8] = [
    // circle
    "M4.2,0A4.2,4.2 0 1 1 -4.2,0A4.2,4.2 0 1 1 4.2,0Z",
    // square
    "M-3.8,-3.8H3.8V3.8H-3.8Z",
    // triangle
    "M0,-5L4.7,3.6H-4.7Z",
    // diamond
    "M0,-5.4L5.4,0L0,5.4L-5.4,0Z",
    // triangle, point down
    "M0,5L4.7,-3.6H-4.7Z",
    // hexagon
    "M-2.5,-4.3H2.5L5,0L2.5,4.3H-2.5L-5,0Z",
    // plus
    "M-1.6,-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    // bow
    "M-4.6,-4.2L4.6,4.2V-4.2L-4.6,4.2Z",
];

/// An axis with its range.
struct Placed<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
    /// Where the range lies in the drawing.
    from: f64,
    to: f64,
}

impl<'a> Placed<'a> {
    fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = match (axis.scale, axis.range) {
            (Scale::Band(bands), _) => (-0.5, bands as f64 - 0.5),
            (_, Some(range)) => range,
            _ => {
                let (low, high) = values
                    .filter(|value| value.is_finite() && (axis.scale != Scale::Log || *value > 0.0))
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                        (low.min(value), high.max(value))
                    });
                if low <= high { (low, high) } else { (1.0, 10.0) }
            }
        };
        match (axis.scale, axis.range) {
            (Scale::Log, _) => {
                // Some room, and at least a factor of 1.6 in all.
                let room = (high / low).powf(0.05).max((1.6 * low / high).sqrt()).max(1.03);
                (low, high) = (low / room, high * room);
            }
            (Scale::Linear, None) => {
                low = 0.0;
                high = if high > 0.0 { high * 1.06 } else { 1.0 };
            }
            _ => {}
        }
        Self { axis, low, high, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = match self.axis.scale {
            Scale::Log => (value.max(1e-12) / self.low).ln() / (self.high / self.low).ln(),
            _ => (value - self.low) / (self.high - self.low),
        };
        round(self.from + share * (self.to - self.from))
    }

    fn ticks(&self) -> Vec<Tick> {
        let tick = |value: f64| Tick { at: self.at(value), text: (self.axis.format)(value) };
        match self.axis.scale {
            Scale::Band(bands) => {
                // No more names than fit.
                let longest = self.axis.bands.iter().map(|name| name.chars().count()).max();
                let wanted = longest.unwrap_or(1) as f64 * 7.0 + 6.0;
                let room = (self.to - self.from).abs() / bands.max(1) as f64;
                let step = (wanted / room).ceil().max(1.0) as usize;
                let named = self.axis.bands.iter().enumerate().step_by(step);
                named
                    .map(|(number, name)| Tick { at: self.at(number as f64), text: name.clone() })
                    .collect()
            }
            Scale::Linear => steps(self.low, self.high).into_iter().map(tick).collect(),
            Scale::Log => log_steps(self.low, self.high).into_iter().map(tick).collect(),
        }
    }
}

/// Four to eight round values of a linear range.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&s| s >= raw);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|&v| v <= high * (1.0 + 1e-9)).take(20).collect()
}

/// Round values of a logarithmic range: powers of ten, with 2 and 5, or finer where few are inside.
fn log_steps(low: f64, high: f64) -> Vec<f64> {
    let with = |factors: &[f64]| -> Vec<f64> {
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let values = decades.flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d)));
        values.filter(|&v| v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9)).collect()
    };
    let sets: [&[f64]; 4] = [
        &[1.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        &[
            1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0, 2.2, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0,
            5.5, 6.0, 7.0, 8.0, 9.0,
        ],
    ];
    let all = sets.map(with);
    let enough = all.iter().position(|values| values.len() >= 4).unwrap_or(3);
    all.into_iter().nth(enough).unwrap_or_default()
}

/// Two digits behind the point are enough for a place.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl Chart {
    /// Places everything.
    pub fn draw(&self) -> Drawn {
        let marks = || self.marks.iter().map(|mark| (mark.x, mark.y));
        let lines = || self.lines.iter().flat_map(|line| line.points.iter().copied());
        let bars = || self.bars.iter().map(|bar| (bar.x, bar.y));
        let all = || marks().chain(lines()).chain(bars());
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let x = Placed::new(&self.x, all().map(|(x, _)| x), LEFT, right);
        let y = Placed::new(&self.y, all().map(|(_, y)| y), bottom, TOP);
        let legend = self.series.iter().enumerate().map(|(series, name)| Legend {
            name: name.clone(),
            series: series % SHAPES.len(),
            shape: SHAPES[series % SHAPES.len()].to_string(),
        });
        // Those of the front come last, lest others hide them.
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by_key(|mark| (mark.class.contains("chosen"), mark.class.contains("front")));
        let band = (right - LEFT) / (x.high - x.low).max(1.0);
        Drawn {
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            width: WIDTH,
            height: HEIGHT,
            plot: Rectangle { x: LEFT, y: TOP, width: right - LEFT, height: bottom - TOP },
            x_label: self.x.label.clone(),
            y_label: self.y.label.clone(),
            x_ticks: x.ticks(),
            y_ticks: y.ticks(),
            legend: legend.filter(|_| self.series.len() > 1).collect(),
            marks: marks
                .into_iter()
                .map(|mark| DrawnMark {
                    x: x.at(mark.x),
                    y: y.at(mark.y),
                    shape: SHAPES[mark.series % SHAPES.len()].to_string(),
                    class: format!("s{} {}", mark.series % SHAPES.len(), mark.class),
                    data_x: mark.x,
                    data_y: mark.y,
                    id: mark.id.clone(),
                    title: mark.title.clone(),
                })
                .collect(),
            lines: self.lines.iter().map(|line| line.draw(&x, &y)).collect(),
            bars: self
                .bars
                .iter()
                .map(|bar| DrawnBar {
                    x: round(x.at(bar.x) - 0.4 * band),
                    y: y.at(bar.y),
                    width: round(0.8 * band),
                    height: round(bottom - y.at(bar.y)),
                    data_x: bar.x,
                    data_y: bar.y,
                    id: bar.id.clone(),
                    title: bar.title.clone(),
                })
                .collect(),
            notes: self
                .notes
                .iter()
                .map(|note| DrawnNote {
                    x: round(x.at(note.x) + if note.left { -9.0 } else { 9.0 }),
                    y: round(y.at(note.y) - 7.0),
                    text: note.text.clone(),
                    anchor: if note.left { "end" } else { "start" },
                })
                .collect(),
        }
    }
}

impl Line {
    fn draw(&self, x: &Placed<'_>, y: &Placed<'_>) -> DrawnLine {
        let mut path = String::new();
        for (number, &(to_x, to_y)) in self.points.iter().enumerate() {
            let command = if number == 0 { 'M' } else { 'L' };
            path += &format!("{command}{},{}", x.at(to_x), y.at(to_y));
        }
        let series = self.series.map_or(String::new(), |s| format!("s{} ", s % SHAPES.len()));
        DrawnLine { path, class: format!("{series}{}", self.class) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        let format = |value: f64| value.to_string();
        Axis { label: String::new(), scale, bands: Vec::new(), format, range: None }
    }

    #[test]
    fn places_keep_order_and_stay_in_the_plot() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![5.0, 5.1, 30.0], vec![7.0], vec![1e-3, 1e6], vec![]] {
                let axis = axis(scale);
                let placed = Placed::new(&axis, values.iter().copied(), 100.0, 10.0);
                let places: Vec<f64> = values.iter().map(|&value| placed.at(value)).collect();
                assert!(places.is_sorted_by(|a, b| a > b), "{scale:?} {values:?}: {places:?}");
                assert!(places.iter().all(|place| (10.0..=100.0).contains(place)), "{places:?}");
                let ticks = placed.ticks();
                assert!((2..=23).contains(&ticks.len()), "{scale:?} {values:?}: {ticks:?}");
                assert!(ticks.iter().all(|tick| (9.99..=100.01).contains(&tick.at)), "{ticks:?}");
            }
        }
    }

    #[test]
    fn bands_stand_in_their_middles_and_names_that_do_not_fit_are_left_out() {
        let mut axis = axis(Scale::Band(4));
        axis.bands = ["1", "2", "3", "4"].map(String::from).into();
        let placed = Placed::new(&axis, std::iter::empty(), 0.0, 400.0);
        assert_eq!(
            placed.ticks().iter().map(|t| t.at).collect::<Vec<_>>(),
            [50.0, 150.0, 250.0, 350.0]
        );
        let placed = Placed::new(&axis, std::iter::empty(), 0.0, 40.0);
        assert_eq!(placed.ticks().len(), 2);
    }
}
