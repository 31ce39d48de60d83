//! Splits a list into pages. A cursor names the last item that was sent, so no item is lost if the
//! list grows.

use super::gateway::{Failure, Page};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The items after `cursor`, at most `size`.
pub(super) fn cut<T>(
    items: Vec<T>,
    cursor: Option<&str>,
    size: usize,
    name: impl Fn(&T) -> &str,
) -> Result<Page<T>, Failure> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let last = decode(cursor).ok_or_else(stale)?;
            1 + items.iter().position(|item| name(item) == last).ok_or_else(stale)?
        }
    };
    let total = items.len();
    let items: Vec<T> = items.into_iter().skip(start).take(size.max(1)).collect();
    let more = start + items.len() < total;
    let next = items.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(name(last)));
    Ok(Page { items, next })
}

fn decode(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

fn stale() -> Failure {
    Failure::unknown("this cursor leads nowhere, the list has changed: begin again without one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(page: &Page<&str>) -> String {
        page.items.join(",")
    }

    #[test]
    fn pages_cover_the_list_once() {
        let all = vec!["a", "b", "c", "d", "e"];
        let first = cut(all.clone(), None, 2, |item| item).unwrap();
        let second = cut(all.clone(), first.next.as_deref(), 2, |item| item).unwrap();
        let third = cut(all.clone(), second.next.as_deref(), 2, |item| item).unwrap();
        assert_eq!((names(&first), names(&second), names(&third)), ("a,b".into(), "c,d".into(), "e".into()));
        assert_eq!(third.next, None);
    }

    #[test]
    fn list_of_one_page_has_no_cursor() {
        assert_eq!(cut(vec!["a", "b"], None, 2, |item| item).unwrap().next, None);
        assert_eq!(cut(Vec::<&str>::new(), None, 2, |item| item).unwrap().next, None);
    }

    #[test]
    fn unknown_cursor_is_rejected() {
        let gone = URL_SAFE_NO_PAD.encode("z");
        for cursor in [gone.as_str(), "!!", ""] {
            assert!(cut(vec!["a"], Some(cursor), 2, |item| item).is_err(), "{cursor}");
        }
    }
}
