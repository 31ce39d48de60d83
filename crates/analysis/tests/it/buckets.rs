//! Azure and Google Cloud Storage, against servers on loopback that `xtask/lake/fill_buckets.py` has
//! filled: Azurite (`STEWARD_TEST_AZURE`), which checks signatures, and `gcp-storage-emulator`
//! (`STEWARD_TEST_GCS`), which does not.

use crate::remote::{fetched, server_of};
use crate::{code, open, rows, sql};

/// The same data in a bucket of each kind.
async fn check(root: &str) {
    let bench = open(&[format!("{root}/cities.csv"), format!("{root}/tables/sales")]).await;
    let bench = bench.unwrap_or_else(|error| panic!("{root}: {error}"));
    assert_eq!(rows(&bench, "select country from cities order by 1").await, [["Italy"], ["Norway"]]);
    let joined = "select count(*) from sales s join cities c on s.year = 2020 where c.city = 'Rome'";
    assert_ne!(rows(&bench, joined).await, [["0"]]);
    let (_, whole) = fetched(&bench, "select sum(units), sum(id) from sales").await;
    let some = "select sum(units), sum(id) from sales where region = 'south' and year = 2020";
    let (_, part) = fetched(&bench, some).await;
    assert!(part * 4 < whole, "{part} bytes of {whole}");
    assert!(sql(&bench, &format!("copy sales to '{root}/out.csv'")).await.is_err());
    // Names with characters that are escaped in addresses, and a version of a table.
    let bench = open(&[format!("{root}/a b/c=1/é.csv"), format!("{root}/tables/deleted@v1")]).await.unwrap();
    assert_eq!(bench.session.catalogue().table("deleted").unwrap().rows, Some(4996));
    assert_eq!(bench.session.catalogue().tables.len(), 2);
    // All tables below an address; their logs and files are no tables of their own.
    let bench = open(&[format!("{root}/tables/")]).await.unwrap();
    let tables: Vec<&str> =
        bench.session.catalogue().tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["deleted", "sales"]);
    for (source, expected, said) in [
        (format!("{root}/nothing/"), "ANA003", "no data"),
        (format!("{root}/tables/sales@v99"), "ANA003", "no version 99"),
        (format!("{}none/x.csv", root.trim_end_matches("lake")), "ANA003", ""),
        (format!("{}:///x.csv", root.split(':').next().unwrap()), "ANA003", "bucket"),
    ] {
        let error = open(std::slice::from_ref(&source)).await.map(|_| ()).unwrap_err();
        assert_eq!(code(&error), expected, "{source}: {error}");
        assert!(error.to_string().contains(said), "{source}: {error}");
    }
    let described =
        format!("{:?}", bench.session.places().iter().map(|place| place.describe()).collect::<Vec<_>>());
    assert!(described.contains(root) && !described.contains("Eby8vdM"), "{described}");
}

#[tokio::test]
async fn an_azure_container_is_a_source() {
    let Some(_) = server_of("STEWARD_TEST_AZURE", "azure") else { return };
    check("az://lake").await;
}

#[tokio::test]
async fn a_google_bucket_is_a_source() {
    let Some(_) = server_of("STEWARD_TEST_GCS", "gcs") else { return };
    check("gs://lake").await;
}
