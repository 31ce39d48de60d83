//! Reading a request: what it speaks of, how the rows are prepared, what is asked for.

use super::answers;
use super::asked::Procedure;
use super::columns::{Lexicon, Mention};
use super::figure_list::{Request, cut};
use super::figures;
use super::prepare;
use super::types::{Outlier, Shape, Step, Test};
use super::words::{Token, has, has_any, plain, sentences, tokens};
use crate::frame::{Frame, Kind};
use std::ops::Range;

/// All that is known about a request while it is read.
pub(super) struct Context<'a> {
    /// The table.
    pub frame: &'a Frame,
    /// Its columns and values, and those that steps add.
    pub lexicon: Lexicon,
    /// Question and constraints, and the figures that are listed.
    pub request: Request,
    /// The tokens of question and constraints.
    pub tokens: Vec<Token>,
    /// Its sentences.
    pub sentences: Vec<Range<usize>>,
    /// The columns it speaks of.
    pub mentions: Vec<Mention>,
    /// Its words in lower case.
    pub words: String,
    /// The level of significance.
    pub alpha: f64,
    /// The steps read so far.
    pub steps: Vec<Step>,
    /// Columns that steps add, the last one last.
    pub derived: Vec<String>,
    /// The columns that group.
    pub groups: Vec<String>,
    /// What was assumed.
    pub assumptions: Vec<String>,
}

impl<'a> Context<'a> {
    fn new(text: &str, frame: &'a Frame) -> Self {
        let request = cut(text);
        let tokens = tokens(&request.body);
        let mut lexicon = Lexicon::new(frame);
        let mentions = lexicon.mentions(&tokens);
        for (column, words) in aliases(&tokens, &mentions) {
            lexicon.alias(&column, &words);
        }
        let mentions = lexicon.mentions(&tokens);
        let words = plain(&tokens);
        let sentences = sentences(&tokens);
        let alpha = level(&tokens);
        Self {
            frame,
            lexicon,
            request,
            sentences,
            mentions,
            words,
            alpha,
            tokens,
            steps: Vec::new(),
            derived: Vec::new(),
            groups: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    /// Looks for columns again, after a step added one.
    pub(super) fn refresh(&mut self) {
        self.mentions = self.lexicon.mentions(&self.tokens);
    }

    /// The words of a sentence.
    #[must_use]
    pub(super) fn sentence(&self, range: &Range<usize>) -> String {
        self.tokens.get(range.clone()).map(plain).unwrap_or_default()
    }

    /// The mentions inside a stretch of tokens, weak ones left out.
    #[must_use]
    pub(super) fn within(&self, range: &Range<usize>) -> Vec<&Mention> {
        self.mentions
            .iter()
            .filter(|m| m.score >= 0.4 && m.start >= range.start && m.end <= range.end)
            .collect()
    }

    /// Is the column one of numbers, or of text that is numbers?
    #[must_use]
    pub(super) fn is_numeric(&self, name: &str) -> bool {
        if self.derived.iter().any(|d| d == name) {
            return !self.steps.iter().any(|s| matches!(s, Step::Bin { name: n, .. } if n == name));
        }
        let Some(place) = self.frame.position(name) else { return false };
        let Some(field) = self.frame.fields.get(place) else { return false };
        if field.kind.is_number() {
            return true;
        }
        let cells: Vec<bool> = self
            .frame
            .column(place)
            .filter(|v| !v.is_null())
            .take(60)
            .map(|v| super::numbers::numeric(v).is_some())
            .collect();
        let numbers = cells.iter().filter(|n| **n).count();
        field.kind == Kind::Text && numbers > 0 && numbers * 10 >= cells.len() * 8
    }

    /// The rule for outliers that the text states, or the usual one.
    #[must_use]
    pub(super) fn outlier_rule(&self) -> Outlier {
        let z = has_any(
            &self.words,
            &[
                "z score",
                "z scores",
                "zscore",
                "zscores",
                "standard deviations from",
                "standard deviations away",
                "std from",
            ],
        );
        let iqr = has_any(&self.words, &["iqr", "interquartile", "inter quartile", "q3", "third quartile"]);
        if z && (!iqr || first(&self.words, "z score") < first(&self.words, "iqr")) {
            let sample = has_any(&self.words, &["sample standard deviation"]);
            return Outlier::ZScore(
                prepare::threshold(&self.tokens, &["threshold", "score", "deviations"]).unwrap_or(3.0),
                sample,
            );
        }
        Outlier::Iqr(prepare::iqr_factor(&self.tokens).unwrap_or(1.5))
    }

    /// Is the deviation that of a whole population?
    #[must_use]
    pub(super) fn population(&self) -> bool {
        has_any(
            &self.words,
            &[
                "population standard deviation",
                "population variance",
                "population std",
                "ddof 0",
                "np std",
                "numpy std",
                "pstdev",
            ],
        ) && !has(&self.words, "not the population")
    }

    /// The form of skewness and kurtosis.
    #[must_use]
    pub(super) fn shape(&self) -> Shape {
        if has_any(&self.words, &["pearson s first", "pearsons first", "first coefficient of skewness"]) {
            return Shape::PearsonFirst;
        }
        if has_any(&self.words, &["pearson s second", "second coefficient of skewness", "pearson s median"]) {
            return Shape::PearsonSecond;
        }
        if has(&self.words, "scipy") { Shape::Plain } else { Shape::Corrected }
    }

    /// The correlation that the text names.
    #[must_use]
    pub(super) fn correlation(&self) -> Test {
        if has(&self.words, "spearman*") && !has(&self.words, "pearson*") {
            Test::Spearman
        } else if has(&self.words, "kendall*") && !has(&self.words, "pearson*") {
            Test::Kendall
        } else {
            Test::Pearson
        }
    }

    /// The test of normality that the text names.
    #[must_use]
    pub(super) fn normality(&self) -> Option<Test> {
        let words = &self.words;
        if has(words, "shapiro*") {
            Some(Test::Shapiro)
        } else if has_any(words, &["kolmogorov*", "ks test", "k s test", "kstest"]) {
            Some(Test::Kolmogorov)
        } else if has(words, "anderson*") {
            Some(Test::Anderson)
        } else if has_any(words, &["d agostino*", "dagostino*", "normaltest", "k 2 test", "omnibus"]) {
            Some(Test::DAgostino)
        } else if has(words, "jarque*") {
            Some(Test::JarqueBera)
        } else {
            None
        }
    }

    /// The test of groups that the text names.
    #[must_use]
    pub(super) fn group_test(&self) -> Option<Test> {
        let words = &self.words;
        if has_any(words, &["mann whitney*", "wilcoxon rank sum"]) {
            Some(Test::MannWhitney)
        } else if has_any(words, &["chi square*", "chi squared", "chisquare", "chi 2", "chi2*"]) {
            Some(Test::ChiSquare)
        } else if has(words, "kruskal*") {
            Some(Test::Kruskal)
        } else if has_any(words, &["anova", "analysis of variance", "f oneway"]) {
            Some(Test::Anova)
        } else if has(words, "levene*") {
            Some(Test::Levene)
        } else if has_any(words, &["t test", "ttest", "t tests", "ttest ind", "student s t", "t statistic"]) {
            Some(if has(words, "paired") {
                Test::Paired
            } else if has_any(words, &["welch*", "unequal variance", "unequal variances", "equal var false"])
            {
                Test::Welch
            } else {
                Test::Student
            })
        } else if has(words, "z test") {
            Some(Test::ZTest)
        } else {
            None
        }
    }
}

/// Other names that the text gives to columns: the words before a column in brackets, "wind speed
/// (WS)".
fn aliases(tokens: &[Token], mentions: &[Mention]) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for mention in mentions.iter().filter(|m| m.score >= 0.7) {
        let opens = mention
            .start
            .checked_sub(1)
            .filter(|p| tokens.get(*p).is_some_and(|t| t.text == "(" || t.text == "."));
        let closes = tokens.get(mention.end).is_some_and(|t| t.text == ")");
        let Some(mut place) = opens.filter(|_| closes) else { continue };
        if tokens.get(place).is_some_and(|t| t.text == ".") {
            place = place.saturating_sub(1);
        }
        let words: Vec<String> = tokens
            .iter()
            .take(place)
            .rev()
            .take_while(|t| t.word && !super::words::is_filler(&t.lower))
            .take(3)
            .map(|t| t.lower.clone())
            .filter(|w| {
                !["mean", "average", "column", "median", "calculate", "columns", "values", "value"]
                    .contains(&w.as_str())
            })
            .collect();
        if !words.is_empty() {
            found.push((mention.column.clone(), words.into_iter().rev().collect()));
        }
    }
    found
}

fn first(text: &str, phrase: &str) -> usize {
    text.find(phrase).unwrap_or(usize::MAX)
}

/// The level of significance: the number after "significance level" or "alpha", else 0.05.
fn level(tokens: &[Token]) -> f64 {
    for (place, token) in tokens.iter().enumerate() {
        if token.lower == "alpha" || token.lower == "significance" {
            let near = tokens.iter().skip(place + 1).take(7).find_map(Token::number);
            if let Some(level) = near.filter(|n| *n > 0.0 && *n <= 0.2) {
                return level;
            }
        }
    }
    0.05
}

/// Reads a request. `None` when it is no analysis but a plain lookup.
#[must_use]
pub fn read(text: &str, frame: &Frame) -> Option<Procedure> {
    if frame.fields.is_empty() || text.trim().is_empty() {
        return None;
    }
    let mut context = Context::new(text, frame);
    prepare::read_steps(&mut context);
    if context.request.figures.is_empty() {
        return answers::without_figures(&mut context);
    }
    figures::with_figures(&mut context)
}
