//! Boards from end to end over the retail example: pinned, filtered, seen by people with different
//! grants, shown again for a stated time.

use crate::{Fixture, ask, retail, user};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use steward_domain::{Board, BoardFilter, Coded as _, Label, TileContent, TileView, UserId};
use steward_policy::{Mask, TableRules};
use steward_runtime::ask::Ask;
use steward_runtime::board::{
    BoardCache, BoardChoice, BoardView, NewTile, TileEdit, TileRows, TileStatus, board_page,
};
use steward_store::Scope;

const BY_STATE: &str = "SELECT state, sum(amount) AS total FROM sales GROUP BY state ORDER BY state";

fn by_sql(sql: &str) -> NewTile {
    NewTile { sql: Some(sql.to_owned()), ..NewTile::default() }
}

fn filter(column: &str, values: &[&str]) -> BoardFilter {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    BoardFilter { column: column.to_owned(), values, from: None, until: None }
}

fn ben() -> UserId {
    UserId::new("ben").unwrap()
}

/// What a person may read: everything, or only some states, without names.
fn held(of: &UserId, data: &[String]) -> Ask {
    let mut ask = Ask { user: of.clone(), ..ask("", data) };
    if *of == ben() {
        let masks = [("customer_id".to_owned(), Mask::FirstLetter)].into();
        let rows = Some("state IN ('Arizona', 'Texas')".to_owned());
        ask.rows.tables.insert("sales".to_owned(), TableRules { rows, masks, smallest_group: None });
    }
    ask
}

async fn view(fixture: &Fixture, board: &Board, of: &UserId, filters: Vec<BoardFilter>) -> BoardView {
    let grants = |data: &[String]| Ok(held(of, data));
    let choice = BoardChoice { filters, ..BoardChoice::default() };
    fixture.app.view_board(board, of, &choice, &grants, None).await.unwrap()
}

async fn board(fixture: &Fixture, tiles: &[(&str, Option<&str>)], data: &[&str]) -> Board {
    let data: Vec<String> = data.iter().map(|file| retail(file)).collect();
    let mut board = fixture.app.add_board(&user(), Label::new("Sales").unwrap(), "test").await.unwrap();
    for (question, sql) in tiles {
        let new = NewTile { sql: sql.map(str::to_owned), ..NewTile::default() };
        board = fixture.app.pin(&ask(question, &data), board.id, new, "test").await.unwrap().0;
    }
    board
}

fn firsts(tile: &TileRows) -> BTreeSet<String> {
    assert_eq!(tile.status, TileStatus::Ready, "{:?}", tile.error);
    tile.rows.iter().map(|row| row[0].as_str().unwrap_or_default().to_owned()).collect()
}

fn number(tile: &TileRows) -> f64 {
    assert_eq!(tile.status, TileStatus::Ready, "{:?}", tile.error);
    tile.rows[0].iter().find_map(serde_json::Value::as_f64).unwrap()
}

/// The sum of the amounts of sales.csv where a line is kept.
fn by_hand(keep: impl Fn(&dyn Fn(&str) -> String) -> bool) -> f64 {
    let text = std::fs::read_to_string(retail("sales.csv")).unwrap();
    let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let place = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let mut sum = 0.0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| cells[place(name)].to_owned();
        if keep(&cell) {
            sum += cell("amount").parse::<f64>().unwrap_or(0.0);
        }
    }
    sum
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} for {expected}");
}

#[tokio::test]
async fn a_board_shows_each_viewer_what_they_may_see() {
    let fixture = Fixture::new();
    let board =
        board(&fixture, &[("total amount by state", None), ("by state", Some(BY_STATE))], &["sales.csv"])
            .await;
    let mine = view(&fixture, &board, &user(), Vec::new()).await;
    let theirs = view(&fixture, &board, &ben(), Vec::new()).await;
    for (all, some) in mine.tiles.iter().zip(&theirs.tiles) {
        assert!(firsts(all).len() > 2 && firsts(all).contains("California"));
        assert_eq!(firsts(some), BTreeSet::from(["Arizona".to_owned(), "Texas".to_owned()]));
        assert_eq!(all.view, TileView::Chart);
        assert!(all.vega_lite.is_some() && all.sql.is_some() && all.sources[0].tables == ["sales"]);
    }
    // The rows are nowhere in what is kept.
    let kept = serde_json::to_string(&board).unwrap();
    assert!(!kept.contains("California") && !kept.contains("Texas"));
    // A filter only takes away.
    let all = filter("state", &["California", "Texas"]);
    let theirs = view(&fixture, &board, &ben(), vec![all]).await;
    assert_eq!(firsts(&theirs.tiles[0]), BTreeSet::from(["Texas".to_owned()]));
    assert_eq!(theirs.filters[0].options, ["Arizona", "Texas"], "what can be chosen is theirs, too");
    // What a link locks cannot be chosen away.
    let grants = |data: &[String]| Ok(held(&user(), data));
    let choice = BoardChoice {
        filters: vec![filter("state", &["Texas"])],
        locked: vec![filter("state", &["Utah"])],
        refresh: false,
    };
    let locked = fixture.app.view_board(&board, &user(), &choice, &grants, None).await.unwrap();
    assert_eq!(firsts(&locked.tiles[0]), BTreeSet::from(["Utah".to_owned()]));
    // Each reading is an entry of its reader.
    let chains = fixture.app.store.chains(&Scope::User(ben()), None, 10).await.unwrap();
    assert_eq!(chains.len(), 1, "the readings of a viewer stand on a chain of theirs");
}

#[tokio::test]
async fn a_filter_reaches_every_tile_through_columns_and_joins() {
    let fixture = Fixture::new();
    let tiles = [
        ("total amount", None),
        ("carts", Some("SELECT count(*) AS carts FROM carts")),
        ("customers", Some("SELECT count(*) AS customers FROM customers")),
        ("stock", Some("SELECT sum(stock) AS stock FROM inventory")),
    ];
    let files = ["sales.csv", "customers.csv", "carts.csv", "inventory.csv"];
    let board = board(&fixture, &tiles, &files).await;
    let whole = view(&fixture, &board, &user(), Vec::new()).await;
    near(number(&whole.tiles[0]), by_hand(|_| true));
    let chosen = view(&fixture, &board, &user(), vec![filter("segment", &["Consumer"])]).await;
    near(number(&chosen.tiles[0]), by_hand(|cell| cell("segment") == "Consumer"));
    // Carts have no segment; their customers have.
    let customers = std::fs::read_to_string(retail("customers.csv")).unwrap();
    let consumers: BTreeSet<&str> = customers
        .lines()
        .filter(|line| line.split(',').nth(4) == Some("Consumer"))
        .filter_map(|line| line.split(',').next())
        .collect();
    let carts = std::fs::read_to_string(retail("carts.csv")).unwrap();
    let theirs = carts.lines().filter(|line| consumers.contains(line.split(',').nth(2).unwrap_or_default()));
    near(number(&chosen.tiles[1]), theirs.count() as f64);
    near(number(&chosen.tiles[2]), consumers.len() as f64);
    assert_eq!(chosen.tiles[1].filtered_by, ["segment"]);
    // What no column leads to says so.
    near(number(&chosen.tiles[3]), number(&whole.tiles[3]));
    assert_eq!(chosen.tiles[3].not_filtered_by, ["segment"]);
    // Days: the last one counts to its end.
    let days = BoardFilter {
        from: Some("2021-02-01".into()),
        until: Some("2021-02-28".into()),
        ..filter("sales.order_date", &[])
    };
    let february = view(&fixture, &board, &user(), vec![days]).await;
    near(number(&february.tiles[0]), by_hand(|cell| cell("order_date").starts_with("2021-02")));
    assert_eq!(february.filters[0].kind, Some("date"));
    assert_eq!(february.filters[0].range, Some(("2020-01-01".into(), "2022-12-31".into())));
    // Values are values, whatever they look like.
    for hostile in ["x') OR ('1'='1", "\\' OR 1=1 --", "Consumer\\", "caller.name", "'; DROP TABLE sales"] {
        let none = view(&fixture, &board, &user(), vec![filter("segment", &[hostile])]).await;
        assert_eq!(none.tiles[2].rows[0][0], 0, "{hostile}");
    }
    // What does not fit is said.
    let grants = |data: &[String]| Ok(held(&user(), data));
    let wrong = BoardChoice { filters: vec![filter("quantity", &["many"])], ..BoardChoice::default() };
    let said = fixture.app.view_board(&board, &user(), &wrong, &grants, None).await.unwrap();
    assert_eq!(said.tiles[0].error_code.as_deref(), Some("RUN034"));
    // A masked column is not filtered by, nor are its values offered.
    let masked = view(&fixture, &board, &ben(), vec![filter("sales.customer_id", &["C0205"])]).await;
    assert_eq!((masked.filters[0].kind, masked.filters[0].options.len()), (None, 0));
    assert_eq!(masked.tiles[0].not_filtered_by, ["sales.customer_id"]);
}

#[tokio::test]
async fn a_tile_is_edited_in_place_and_runs_again() {
    let fixture = Fixture::new();
    let answer = fixture.ask(ask("total amount by category", &[retail("sales.csv")])).await;
    let app = &fixture.app;
    let made = app.add_board(&user(), Label::new("Sales").unwrap(), "test").await.unwrap();
    let task = answer.response.request_id;
    let new = NewTile { origin: Some(task), ..NewTile::default() };
    let (board, tile) = app
        .pin(&ask("total amount by category", &[retail("sales.csv")]), made.id, new, "test")
        .await
        .unwrap();
    let seen = view(&fixture, &board, &user(), Vec::new()).await;
    assert_eq!(firsts(&seen.tiles[0]).len(), answer.tables[0].frame.rows.len());
    let plain = ask("", &[]);
    let edit = TileEdit { new: by_sql(BY_STATE), ..TileEdit::default() };
    let board = app.edit_tile(&plain, board.id, tile, edit, "test").await.unwrap();
    assert!(firsts(&view(&fixture, &board, &user(), Vec::new()).await.tiles[0]).contains("Arizona"));
    let edit = TileEdit { question: Some("number of orders by segment".into()), ..TileEdit::default() };
    let board = app.edit_tile(&plain, board.id, tile, edit, "test").await.unwrap();
    assert!(firsts(&view(&fixture, &board, &user(), Vec::new()).await.tiles[0]).contains("Consumer"));
    // What does not run or may not be read is refused, and the tile stays as it was.
    for sql in ["SELECT nothing FROM sales", "DROP TABLE sales"] {
        let edit = TileEdit { new: by_sql(sql), ..TileEdit::default() };
        assert!(app.edit_tile(&plain, board.id, tile, edit, "test").await.is_err(), "{sql}");
    }
    assert_eq!(app.board(&user(), board.id).await.unwrap(), board);
    // Nobody else changes it, and while it is not shared nobody else sees it.
    let other = Ask { user: ben(), ..ask("total amount", &[retail("sales.csv")]) };
    assert_eq!(app.pin(&other, board.id, NewTile::default(), "test").await.unwrap_err().code(), "STO001");
    let share = |board: &mut Board| {
        board.is_shared = true;
        Ok(())
    };
    let board = app.change_board(&user(), board.id, "shared", "test", share).await.unwrap();
    assert_eq!(app.board(&ben(), board.id).await.unwrap().tiles.len(), 1);
    assert_eq!(app.pin(&other, board.id, NewTile::default(), "test").await.unwrap_err().code(), "RUN019");
    assert!(app.remove_board(&ben(), board.id, "test").await.is_err());
    // Words, and the page that works offline.
    let (board, _) = app
        .add_text(&user(), board.id, "Orders **per segment**".into(), NewTile::default(), "test")
        .await
        .unwrap();
    assert!(matches!(board.tiles[1].content, TileContent::Text(_)));
    let page = board_page(&view(&fixture, &board, &user(), Vec::new()).await, "ana");
    assert!(
        page.contains("<strong>per segment</strong>") && page.contains("<svg") && page.contains("As of ")
    );
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));
}

#[tokio::test]
async fn results_are_shared_between_equal_grants_for_their_time_only() {
    let fixture = Fixture::new();
    let app = &fixture.app;
    let board = board(&fixture, &[("by state", Some(BY_STATE))], &["sales.csv"]).await;
    let short = |board: &mut Board| {
        board.fresh_seconds = 2;
        Ok(())
    };
    let board = app.change_board(&user(), board.id, "changed", "test", short).await.unwrap();
    let cache = BoardCache::default();
    let read = AtomicUsize::new(0);
    let look = async |of: &UserId, refresh: bool| {
        let grants = |data: &[String]| {
            read.fetch_add(1, Ordering::SeqCst);
            Ok(held(of, data))
        };
        let choice = BoardChoice { refresh, ..BoardChoice::default() };
        app.view_board(&board, of, &choice, &grants, Some(&cache)).await.unwrap()
    };
    // Viewers who come at once wait for one reading.
    let all = futures_util::future::join_all((0..20).map(|_| async { look(&user(), false).await })).await;
    let times: BTreeSet<_> = all.iter().map(|view| view.as_of).collect();
    assert_eq!(times.len(), 1, "one reading for all of them");
    let dora = UserId::new("dora").unwrap();
    assert!(look(&dora, false).await.cached, "the same grants see the same result");
    let theirs = look(&ben(), false).await;
    assert!(!theirs.cached && firsts(&theirs.tiles[0]).len() == 2, "other grants do not");
    assert!(look(&ben(), false).await.cached);
    assert!(!look(&ben(), true).await.cached, "unless it is read anew");
    let first = all[0].as_of;
    assert_eq!(all[0].fresh_until.micros() - first.micros(), 2_000_000);
    tokio::time::sleep(Duration::from_millis(2_050)).await;
    let later = look(&user(), false).await;
    assert!(!later.cached && later.as_of > first, "nothing is shown after its time");
    // A changed board is another board.
    let renamed = |board: &mut Board| {
        board.tiles[0].title = "States".to_owned();
        Ok(())
    };
    let board = app.change_board(&user(), board.id, "changed", "test", renamed).await.unwrap();
    let grants = |data: &[String]| Ok(held(&user(), data));
    let anew = app.view_board(&board, &user(), &BoardChoice::default(), &grants, Some(&cache)).await.unwrap();
    assert!(!anew.cached && anew.tiles[0].title == "States");
}

#[tokio::test]
async fn a_metric_on_a_board_follows_its_definition() {
    let fixture = Fixture::new();
    let folder = fixture.folder.path().join("semantics");
    std::fs::create_dir_all(&folder).unwrap();
    let define = |expression: &str| {
        let text = format!("metrics:\n  turnover: {{ table: sales, expression: \"{expression}\" }}\n");
        std::fs::write(folder.join("sales.yaml"), text).unwrap();
    };
    define("sum(amount)");
    let board = board(&fixture, &[("turnover", None)], &["sales.csv"]).await;
    let before = view(&fixture, &board, &user(), Vec::new()).await;
    near(number(&before.tiles[0]), by_hand(|_| true));
    assert_eq!(before.tiles[0].definition.as_deref(), Some("turnover = sum(amount)"));
    define("sum(amount * 2)");
    let after = view(&fixture, &board, &user(), Vec::new()).await;
    near(number(&after.tiles[0]), 2.0 * by_hand(|_| true));
}
