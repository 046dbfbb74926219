//! The list of features says what the manifest declares.

#[test]
fn the_list_of_features_is_the_manifests() {
    let manifest = include_str!("../Cargo.toml");
    let section = manifest.split("\n[features]\n").nth(1).and_then(|rest| rest.split("\n[").next()).expect("features");
    let declared = section.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" ="));
    let declared: Vec<_> = declared.map(|(name, _)| name).filter(|name| *name != "default").collect();
    let listed: Vec<_> = pliant::FEATURES.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, declared);
    let on = |name| pliant::FEATURES.contains(&(name, true));
    assert_eq!(on("simd"), cfg!(feature = "simd"));
    assert_eq!(on("xpbd-colored"), cfg!(feature = "xpbd-colored"));
}
