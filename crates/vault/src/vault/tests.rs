use std::io::{self, Cursor};
use std::os::unix::fs::MetadataExt;

use proptest::prelude::*;

use super::*;

fn vault() -> (TempDir, Vault) {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::open(&folder.path().join("vault")).unwrap();
    (folder, vault)
}

fn names_under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(names_under(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_blob_has_the_id_git_gives_it() {
    let (_folder, vault) = vault();
    assert_eq!(vault.put(b"").unwrap().to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    assert_eq!(vault.put(b"hello\n").unwrap().to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_put_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..200_000)) {
        let (folder, vault) = vault();
        let id = vault.put(&bytes).unwrap();
        let (streamed, length) = vault.put_reader(&mut Cursor::new(&bytes), u64::MAX).unwrap();
        prop_assert_eq!((id, length), (streamed, bytes.len() as u64));
        prop_assert_eq!(&vault.get(id).unwrap(), &bytes);
        vault.export(id, &folder.path().join("copy")).unwrap();
        prop_assert_eq!(&fs::read(folder.path().join("copy")).unwrap(), &bytes);
    }
}

#[test]
fn putting_twice_writes_once() {
    let (_folder, vault) = vault();
    let id = vault.put(b"same").unwrap();
    let before = fs::metadata(vault.path_of(id)).unwrap();
    vault.put(b"same").unwrap();
    vault.put_reader(&mut Cursor::new(b"same"), 10).unwrap();
    let mut batch = vault.batch();
    batch.put(b"same").unwrap();
    assert!(batch.staged.is_empty());
    batch.commit(&BTreeSet::from([id])).unwrap();
    let after = fs::metadata(vault.path_of(id)).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(names_under(&vault.inner.blobs).len(), 1);
}

#[test]
fn only_the_owner_may_read() {
    let (folder, vault) = vault();
    let id = vault.put(b"secret").unwrap();
    let path = vault.path_of(id);
    for folder in [vault.root(), &vault.inner.blobs, path.parent().unwrap(), vault.inner.session.path()] {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
    }
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let copy = folder.path().join("copy");
    vault.export(id, &copy).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o400);
}

#[test]
fn an_export_shares_no_inode_with_the_vault() {
    let (folder, vault) = vault();
    let id = vault.put(b"bytes").unwrap();
    let copy = folder.path().join("copy");
    vault.export(id, &copy).unwrap();
    assert_ne!(fs::metadata(&copy).unwrap().ino(), fs::metadata(vault.path_of(id)).unwrap().ino());
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&copy, b"written over").unwrap();
    assert_eq!(vault.get(id).unwrap(), b"bytes");
    assert!(matches!(vault.export(id, &copy), Err(VaultError::Io { doing: "make", .. })), "an existing file is never written over");
    assert_eq!(fs::read(&copy).unwrap(), b"written over");
}

#[test]
fn a_damaged_blob_is_never_handed_out() {
    let (folder, vault) = vault();
    let id = vault.put(b"twelve bytes").unwrap();
    fs::write(vault.path_of(id), b"twelve bites").unwrap();
    assert!(matches!(vault.get(id), Err(VaultError::DamagedBlob(found)) if found == id));
    let copy = folder.path().join("copy");
    assert!(matches!(vault.export(id, &copy), Err(VaultError::DamagedBlob(_))));
    assert!(!copy.exists(), "a failed export leaves no file");
    let missing = blob_id(b"never kept");
    assert!(matches!(vault.get(missing), Err(VaultError::MissingBlob(found)) if found == missing));
}

#[test]
fn a_blob_cut_short_by_a_power_loss_is_written_anew() {
    let (_folder, vault) = vault();
    let id = vault.put(b"whole").unwrap();
    fs::write(vault.path_of(id), b"").unwrap();
    assert_eq!(vault.put(b"whole").unwrap(), id);
    assert_eq!(vault.get(id).unwrap(), b"whole");
}

#[test]
fn a_reader_over_the_limit_keeps_nothing() {
    let (_folder, vault) = vault();
    assert!(matches!(vault.put_reader(&mut io::repeat(7), 1000), Err(VaultError::OverLimit { limit: 1000 })));
    assert_eq!(vault.put_reader(&mut io::repeat(7).take(1000), 1000).unwrap().1, 1000);
    assert_eq!(names_under(&vault.inner.blobs).len(), 1);
    assert_eq!(names_under(&vault.root().join("tmp")), [vault.inner.session.path().join("alive")]);
}

struct Breaks;
impl Read for Breaks {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

#[test]
fn a_reader_that_breaks_is_told_apart_from_a_disk_that_refuses() {
    let (_folder, vault) = vault();
    assert!(matches!(vault.put_reader(&mut Breaks, 1000), Err(VaultError::Input(_))));
    assert!(names_under(&vault.inner.blobs).is_empty());
}

#[test]
fn opening_sweeps_the_dead_and_spares_the_living() {
    let (_folder, living) = vault();
    let tmp = living.root().join("tmp");
    let held = living.aside().unwrap();
    // What a killed process leaves: a session folder that nobody locks.
    let dead = tmp.join("session-dead");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("alive"), b"").unwrap();
    fs::write(dead.join("half"), b"half-written").unwrap();
    fs::write(tmp.join("stray"), b"").unwrap();

    let second = Vault::open(living.root()).unwrap();
    assert!(!dead.exists());
    assert!(!tmp.join("stray").exists());
    assert!(held.path().exists());
    living.settle(held, blob_id(b"")).unwrap();
    assert_eq!(second.get(blob_id(b"")).unwrap(), b"");
    drop((living, second));
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0, "a closed vault leaves no session behind");
}

#[test]
fn a_batch_keeps_all_or_nothing() {
    let (_folder, vault) = vault();
    let mut batch = vault.batch();
    let ids: Vec<_> = (0..300u32).map(|n| batch.put(&n.to_le_bytes()).unwrap()).collect();
    assert!(!vault.contains(ids[0]));
    drop(batch);
    assert!(names_under(&vault.inner.blobs).is_empty());
    assert_eq!(names_under(&vault.root().join("tmp")).len(), 1);

    let mut batch = vault.batch();
    for n in 0..300u32 {
        batch.put(&n.to_le_bytes()).unwrap();
        batch.put(&n.to_le_bytes()).unwrap();
    }
    let unwanted = batch.put(b"read, and not needed after all").unwrap();
    assert_eq!(batch.get(unwanted).unwrap(), b"read, and not needed after all");
    batch.commit(&ids.iter().copied().collect()).unwrap();
    for (n, id) in (0..300u32).zip(ids) {
        assert_eq!(vault.get(id).unwrap(), n.to_le_bytes());
    }
    assert!(!vault.contains(unwanted));
}
