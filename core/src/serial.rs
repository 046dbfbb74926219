//! Descriptions through serde: arrays of any length, shapes that nest only so deep, and the checks of what is private.
//!
//! What builders guarantee and `Model::build` does not look at again is checked when it is read; everything else is checked when a
//! model is built, whoever described it.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::body::{Body, Table};
use crate::columns::Columns;
use crate::mesh::TriMesh;

/// Lists of arrays whose length is a parameter; each is written as a tuple.
pub(crate) mod rows {
    use super::{Deserialize, Deserializer, Row, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer, const N: usize>(rows: &[[T; N]], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(rows.iter().map(Row::<&[T; N]>))
    }

    pub fn deserialize<'de, T, D, const N: usize>(from: D) -> Result<Vec<[T; N]>, D::Error>
    where
        T: Deserialize<'de> + Copy + Default,
        D: Deserializer<'de>,
    {
        let rows = Vec::<Row<[T; N]>>::deserialize(from)?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }
}

pub(crate) struct Row<A>(A);

impl<T: Serialize, const N: usize> Serialize for Row<&[T; N]> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut tuple = to.serialize_tuple(N)?;
        self.0.iter().try_for_each(|value| tuple.serialize_element(value))?;
        tuple.end()
    }
}

impl<'de, T: Deserialize<'de> + Copy + Default, const N: usize> Deserialize<'de> for Row<[T; N]> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Values<T, const N: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Copy + Default, const N: usize> Visitor<'de> for Values<T, N> {
            type Value = Row<[T; N]>;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(to, "{N} numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
                let mut row = [T::default(); N];
                for (at, value) in row.iter_mut().enumerate() {
                    *value = from.next_element()?.ok_or_else(|| A::Error::invalid_length(at, &self))?;
                }
                Ok(Row(row))
            }
        }
        from.deserialize_tuple(N, Values(PhantomData))
    }
}

/// Reads a shape inside another one; [`Shape::DEEPEST`](crate::sdf::Shape::DEEPEST) is how deep that goes.
#[cfg(feature = "collision")]
pub(crate) fn nested<'de, D: Deserializer<'de>>(from: D) -> Result<Box<crate::sdf::Shape>, D::Error> {
    use core::cell::Cell;

    use crate::sdf::Shape;
    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let _inside = Inside;
    if DEPTH.get() > Shape::DEEPEST {
        return Err(D::Error::custom(format_args!("shapes nest deeper than {}", Shape::DEEPEST)));
    }
    Box::deserialize(from)
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let body = Self::deserialize(from)?;
        let count = body.particle_count();
        if body.rest.len() != count {
            return Err(D::Error::custom(format_args!("{} rest positions of {count} particles", body.rest.len())));
        }
        if let Some([columns, rows]) = body.grid
            && (columns.min(rows) < 2 || (columns as usize).checked_mul(rows as usize) != Some(count))
        {
            return Err(D::Error::custom(format_args!("a grid of {columns} × {rows} for {count} particles")));
        }
        if let Some(row) = body.triangles.iter().position(|t| t.iter().any(|&corner| corner as usize >= count)) {
            return Err(D::Error::custom(format_args!("triangle {row} has a corner beyond {count} particles")));
        }
        if body.inflation.is_some() {
            let places = body.rest.iter().map(|&place| ultraviolet::DVec3::from(place));
            let closed = TriMesh::new(places, body.triangles.iter().copied()).and_then(|mesh| mesh.require_closed());
            closed.map_err(|error| D::Error::custom(format_args!("a balloon that is not closed: {error}")))?;
        }
        Ok(body)
    }
}

impl<const N: usize, const P: usize> Serialize for Table<N, P> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de, const N: usize, const P: usize> Deserialize<'de> for Table<N, P> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let table = Self::deserialize(from)?;
        let Self { ids, parameters, compliance, damping, role, direction, scale } = &table;
        let lengths = [parameters.len(), compliance.len(), damping.len(), role.len(), direction.len(), scale.len()];
        if let Some(found) = lengths.into_iter().find(|found| *found != ids.len()) {
            return Err(D::Error::custom(format_args!("a column of {found} entries for {} constraints", ids.len())));
        }
        Ok(table)
    }
}

impl<T: Serialize> Serialize for Columns<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Columns<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let columns = Self::deserialize(from)?;
        let lengths = [columns.x.len(), columns.y.len(), columns.z.len()];
        if lengths != [lengths[0]; 3] {
            return Err(D::Error::custom(format_args!("columns of {lengths:?} numbers; they must be as many")));
        }
        Ok(columns)
    }
}

#[cfg(feature = "collision")]
impl Serialize for crate::sdf::DistanceGrid {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

#[cfg(feature = "collision")]
impl<'de> Deserialize<'de> for crate::sdf::DistanceGrid {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let grid = Self::deserialize(from)?;
        grid.check().map_err(D::Error::custom)?;
        Ok(grid)
    }
}
