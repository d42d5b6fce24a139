//! Medians, quantiles, and tables for terminals and for documents.

/// The middle of some figures; 0 of none.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        even if even % 2 == 0 => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
        odd => sorted[odd / 2],
    }
}

/// The part of `took_ns` below which `share` of them lie, in microseconds.
#[must_use]
pub fn quantile_us(took_ns: &mut [u32], share: f64) -> f64 {
    let Some(last) = took_ns.len().checked_sub(1) else { return 0.0 };
    let place = ((took_ns.len() as f64 * share) as usize).min(last);
    f64::from(*took_ns.select_nth_unstable(place).1) / 1_000.0
}

/// `999`, `12.3 k`, `1.23 M`.
#[must_use]
pub fn short(figure: f64) -> String {
    match figure {
        f if f >= 999_500.0 => format!("{:.2} M", f / 1e6),
        f if f >= 99_950.0 => format!("{:.0} k", f / 1e3),
        f if f >= 1_000.0 => format!("{:.1} k", f / 1e3),
        f if f >= 10.0 => format!("{f:.0}"),
        f => format!("{f:.1}"),
    }
}

/// `850 µs`, `1.2 ms`, `3.4 s`.
#[must_use]
pub fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.1} s", us / 1e6),
        us if us >= 1_000.0 => format!("{:.1} ms", us / 1e3),
        us if us >= 10.0 => format!("{us:.0} µs"),
        us => format!("{us:.1} µs"),
    }
}

/// Rows of texts, as Markdown that a terminal shows well too.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(heads: &[&str]) -> Table {
        Table { rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()] }
    }

    /// Appends a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// All rows, columns aligned.
    #[must_use]
    pub fn markdown(&self) -> String {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = widths.iter().enumerate().map(|(column, width)| match column {
            0 => "-".repeat(*width),
            _ => format!("{}:", "-".repeat(width - 1)),
        });
        let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
        line(&self.rows[0]) + &rule + &self.rows[1..].iter().map(line).collect::<String>()
    }
}
