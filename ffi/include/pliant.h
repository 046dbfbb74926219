// pliant: a data-oriented solver kit for physics-based animation. C interface.
//
// Made by cbindgen from ffi/src: do not edit. ffi/README.md has the rules that hold for every function (errors, lifetimes,
// threads), ffi/examples/curtain.c is a complete program.

#ifndef PLIANT_H
#define PLIANT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// A status that nobody looks at hides an error.
#if defined(__GNUC__) || defined(__clang__)
#define PLIANT_MUST_USE __attribute__((warn_unused_result))
#else
#define PLIANT_MUST_USE
#endif

// What became of a call. Whatever is not `OK` has changed nothing, and `pliant_last_error` says more.
typedef enum pliant_status {
  // It worked.
  PLIANT_STATUS_OK = 0,
  // A pointer that is needed is null.
  PLIANT_STATUS_NULL_POINTER = 1,
  // A string is no UTF-8.
  PLIANT_STATUS_BAD_TEXT = 2,
  // A list or buffer has the wrong length or place.
  PLIANT_STATUS_BAD_LENGTH = 3,
  // There is no method, backend, material, role or bending of this name.
  PLIANT_STATUS_UNKNOWN_NAME = 4,
  // No such body, collider or pin: it was removed, or belongs to another world.
  PLIANT_STATUS_NOT_FOUND = 5,
  // A mesh is not usable.
  PLIANT_STATUS_BAD_MESH = 6,
  // A number or option is outside its range.
  PLIANT_STATUS_BAD_VALUE = 7,
  // The method cannot carry this.
  PLIANT_STATUS_UNSUPPORTED = 8,
  // The time step, or a number that the step needs, is not usable.
  PLIANT_STATUS_BAD_STEP = 9,
  // The step diverged; the state is as it was before.
  PLIANT_STATUS_DIVERGED = 10,
  // Bytes are no snapshot of this world.
  PLIANT_STATUS_BAD_SNAPSHOT = 11,
  // Another thread is inside this world.
  PLIANT_STATUS_BUSY = 12,
  // The library failed inside this call: a bug, please report it. The world can only be destroyed.
  PLIANT_STATUS_PANIC = 13,
  // The library failed inside an earlier call on this world: it can only be destroyed.
  PLIANT_STATUS_POISONED = 14,
  // Something else went wrong.
  PLIANT_STATUS_OTHER = 15,
} pliant_status;

// What a body is, before it is added to a world: positions, masses, constraints, pins. For one thread at a time.
typedef struct pliant_body pliant_body;

// Bodies that live and move together. For one thread at a time: a second one is told that the world is busy.
typedef struct pliant_world pliant_world;

// A vector or a point.
typedef struct pliant_vec3 {
  // First component.
  double x;
  // Second component.
  double y;
  // Third component.
  double z;
} pliant_vec3;

// What a world is made with. Zeros and null pointers mean defaults.
typedef struct pliant_world_options {
  // Name of the method, see `pliant_method_name`; null for coloured XPBD.
  const char *method;
  // Substeps a step; 0 for the method's default.
  uint32_t substeps;
  // Iterations a substep; 0 for the method's default.
  uint32_t iterations;
  // Name of the backend, see `pliant_backend_name`; null for the fastest. All compute the same bits.
  const char *backend;
  // Threads of the backend `parallel`; 0 for one a core, at most 1024.
  uint32_t threads;
} pliant_world_options;

// Names a body of a world; never 0. A handle whose body was removed is refused for good.
typedef struct pliant_body_id {
  // To be stored and compared, not computed with.
  uint64_t bits;
} pliant_body_id;

// A uniform wind and how surfaces catch it.
typedef struct pliant_wind {
  // Velocity of the air [m/s].
  struct pliant_vec3 velocity;
  // Density of the air [kg/m^3]; 1.2 at sea level.
  double density;
  // Drag coefficient: the push along the wind.
  double drag;
  // Lift coefficient: the push across the wind.
  double lift;
} pliant_wind;

// Where something is and how it is turned.
typedef struct pliant_pose {
  // Translation [m].
  struct pliant_vec3 translation;
  // Rotation as a quaternion x, y, z, w (w is the cosine of half the angle), of any length; four zeros mean no rotation.
  double rotation[4];
} pliant_pose;

// How a collider answers to what touches it; zeros are a good start.
typedef struct pliant_contact {
  // Coulomb's coefficient of friction, 0 or more.
  double friction;
  // The share of the approach speed that particles leave with, 0 to 1.
  double restitution;
} pliant_contact;

// Names a collider of a world; never 0. A handle whose collider was removed is refused for good.
typedef struct pliant_collider_id {
  // To be stored and compared, not computed with.
  uint64_t bits;
} pliant_collider_id;

// Vectors in the memory of a world, one list a component: valid until the next call that changes the world.
typedef struct pliant_columns {
  // First components.
  const float *x;
  // Second components.
  const float *y;
  // Third components.
  const float *z;
  // How many there are.
  size_t count;
} pliant_columns;

// Triangles in the memory of a world: valid until the next call that changes the world.
typedef struct pliant_triangles {
  // Three particle numbers a triangle.
  const uint32_t *corners;
  // How many triangles there are.
  size_t count;
} pliant_triangles;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What went wrong in the last call of this thread that failed; empty when none has.
//
// The text belongs to the library and is valid until the next call of this thread that fails.
const char *pliant_last_error(void);

// The version of the library, such as "0.1.0": compare it with that of the header you compiled against.
//
// The text belongs to the library and is always valid.
const char *pliant_version(void);

// A rectangle of cloth in the plane y = 0, from the origin along x (`width`, `columns` particles) and z (`height`, `rows`
// particles) [m]; particle `row * columns + column`. Its links are rigid unless made compliant.
PLIANT_MUST_USE
enum pliant_status pliant_body_cloth(size_t columns,
                                     size_t rows,
                                     double width,
                                     double height,
                                     struct pliant_body **out);

// A rope of so many segments between two points [m]; `bends` adds links that resist bending.
PLIANT_MUST_USE
enum pliant_status pliant_body_rope(size_t segments,
                                    struct pliant_vec3 from,
                                    struct pliant_vec3 to,
                                    bool bends,
                                    struct pliant_body **out);

// A box of tetrahedra from the origin: so many cells a side, and its size [m].
PLIANT_MUST_USE
enum pliant_status pliant_body_box(size_t cells_x,
                                   size_t cells_y,
                                   size_t cells_z,
                                   struct pliant_vec3 size,
                                   struct pliant_body **out);

// A surface of triangles. `bending` is "none", "cross-links", "dihedral", "isometric", "flatten", "cotangent" or
// "cubic-shell"; null for "cross-links".
//
// # Safety
// `positions` points to three numbers a particle [m], `triangles` to three particle numbers a triangle.
PLIANT_MUST_USE
enum pliant_status pliant_body_surface(const double *positions,
                                       size_t particle_count,
                                       const uint32_t *triangles,
                                       size_t triangle_count,
                                       const char *bending,
                                       struct pliant_body **out);

// A closed surface that holds `inflation` times the volume it encloses at rest.
//
// # Safety
// `positions` points to three numbers a particle [m], `triangles` to three particle numbers a triangle.
PLIANT_MUST_USE
enum pliant_status pliant_body_balloon(const double *positions,
                                       size_t particle_count,
                                       const uint32_t *triangles,
                                       size_t triangle_count,
                                       double inflation,
                                       struct pliant_body **out);

// A solid of tetrahedra, wound so that their volumes are positive: links along edges, and the volume of each.
//
// # Safety
// `positions` points to three numbers a particle [m], `tets` to four particle numbers a tetrahedron.
PLIANT_MUST_USE
enum pliant_status pliant_body_solid(const double *positions,
                                     size_t particle_count,
                                     const uint32_t *tets,
                                     size_t tet_count,
                                     struct pliant_body **out);

// A sheet of a material ("cotton", "silk", "wool", "denim", "leather", "rubber" or "gel") whose warp runs along `warp`.
//
// # Safety
// `material` is a string, `positions` points to three numbers a particle [m], `triangles` to three particle numbers a triangle.
PLIANT_MUST_USE
enum pliant_status pliant_body_sheet_of(const char *material,
                                        const double *positions,
                                        size_t particle_count,
                                        const uint32_t *triangles,
                                        size_t triangle_count,
                                        struct pliant_vec3 warp,
                                        struct pliant_body **out);

// A solid of a material: see `pliant_body_sheet_of`.
//
// # Safety
// `material` is a string, `positions` points to three numbers a particle [m], `tets` to four particle numbers a tetrahedron.
PLIANT_MUST_USE
enum pliant_status pliant_body_solid_of(const char *material,
                                        const double *positions,
                                        size_t particle_count,
                                        const uint32_t *tets,
                                        size_t tet_count,
                                        struct pliant_body **out);

// Scales all masses to a total [kg].
PLIANT_MUST_USE enum pliant_status pliant_body_set_mass(struct pliant_body *body, double total);

// Sets the mass of every particle [kg].
//
// # Safety
// `masses` points to `count` numbers.
PLIANT_MUST_USE enum pliant_status pliant_body_set_masses(struct pliant_body *body, const double *masses, size_t count);

// Keeps every particle this far from colliders [m].
PLIANT_MUST_USE enum pliant_status pliant_body_set_thickness(struct pliant_body *body, double thickness);

// Keeps the surface clear of itself and of other surfaces that ask for it: distance between layers [m] and friction.
PLIANT_MUST_USE
enum pliant_status pliant_body_set_self_contact(struct pliant_body *body,
                                                double thickness,
                                                double friction);

// Sets the compliance of every constraint of a role: its inverse stiffness, 0 for rigid [m/N for lengths]. `role` is
// "stretch", "shear", "bend", "volume", "tether" or "attach".
//
// # Safety
// `role` is a string.
PLIANT_MUST_USE
enum pliant_status pliant_body_set_compliance(struct pliant_body *body,
                                              const char *role,
                                              double compliance);

// Sets the damping of every constraint of a role, which acts on compliant ones [N s/m for lengths].
//
// # Safety
// `role` is a string.
PLIANT_MUST_USE enum pliant_status pliant_body_set_damping(struct pliant_body *body, const char *role, double damping);

// Limits the distance of every particle to its two nearest pins, to the way along the surface times 1 + `slack`.
PLIANT_MUST_USE enum pliant_status pliant_body_set_tethers(struct pliant_body *body, double slack);

// Holds particles in place; worlds can move and release them.
//
// # Safety
// `particles` points to `count` particle numbers.
PLIANT_MUST_USE enum pliant_status pliant_body_pin(struct pliant_body *body, const uint32_t *particles, size_t count);

// Moves the whole body [m].
PLIANT_MUST_USE enum pliant_status pliant_body_translate(struct pliant_body *body, struct pliant_vec3 by);

// How many particles the description has; 0 for a null pointer.
size_t pliant_body_particle_count(const struct pliant_body *body);

// Frees a description; worlds it was added to keep their copy. A null pointer is fine.
void pliant_body_destroy(struct pliant_body *body);

// Makes a world without bodies. `options` may be null: the default method on the fastest backend.
//
// # Safety
// The names in `options` are strings or null.
PLIANT_MUST_USE
enum pliant_status pliant_world_create(const struct pliant_world_options *options,
                                       struct pliant_world **out);

// Frees a world with everything in it and ends its threads. A null pointer is fine.
void pliant_world_destroy(struct pliant_world *world);

// Swaps the method; bodies and their state stay. 0 substeps or iterations mean the method's default.
//
// # Safety
// `name` is a string.
PLIANT_MUST_USE
enum pliant_status pliant_world_set_method(const struct pliant_world *world,
                                           const char *name,
                                           uint32_t substeps,
                                           uint32_t iterations);

// The name of method `index` of this build, null behind the last.
const char *pliant_method_name(size_t index);

// The name of backend `index` of this build, null behind the last.
const char *pliant_backend_name(size_t index);

// Adds a copy of a description and writes its handle to `out`; the state of other bodies is kept bit for bit.
PLIANT_MUST_USE
enum pliant_status pliant_world_add(const struct pliant_world *world,
                                    const struct pliant_body *body,
                                    struct pliant_body_id *out);

// Removes a body for good; the state of the others is kept bit for bit.
PLIANT_MUST_USE enum pliant_status pliant_world_remove(const struct pliant_world *world, struct pliant_body_id id);

// Advances time by `dt` [s], at most 1; pins and colliders arrive where they were sent.
PLIANT_MUST_USE enum pliant_status pliant_world_step(const struct pliant_world *world, float dt);

// Sets the acceleration of free fall [m/s^2]; 9.81 downwards along y unless set. Checked by the next step.
PLIANT_MUST_USE
enum pliant_status pliant_world_set_gravity(const struct pliant_world *world,
                                            struct pliant_vec3 gravity);

// Sets the rate at which velocities decay [1/s]; 0 unless set. Checked by the next step.
PLIANT_MUST_USE enum pliant_status pliant_world_set_damping(const struct pliant_world *world, double rate);

// Sets the wind, or takes it away when `wind` is null. Checked by the next step.
PLIANT_MUST_USE
enum pliant_status pliant_world_set_wind(const struct pliant_world *world,
                                         const struct pliant_wind *wind);

// Holds a particle where it is, at rest.
PLIANT_MUST_USE
enum pliant_status pliant_world_pin(const struct pliant_world *world,
                                    struct pliant_body_id id,
                                    uint32_t particle);

// Lets a pin go; the particle keeps the velocity the pin had.
PLIANT_MUST_USE
enum pliant_status pliant_world_release(const struct pliant_world *world,
                                        struct pliant_body_id id,
                                        uint32_t particle);

// Sends a pin to a new place [m]; it arrives at the end of the next step.
PLIANT_MUST_USE
enum pliant_status pliant_world_move_pin(const struct pliant_world *world,
                                         struct pliant_body_id id,
                                         uint32_t particle,
                                         struct pliant_vec3 to);

// Puts a force on a particle that acts until it is changed [N]; zero takes it away.
PLIANT_MUST_USE
enum pliant_status pliant_world_set_force(const struct pliant_world *world,
                                          struct pliant_body_id id,
                                          uint32_t particle,
                                          struct pliant_vec3 force);

// Takes the forces on all particles of all bodies away.
PLIANT_MUST_USE enum pliant_status pliant_world_clear_forces(const struct pliant_world *world);

// Puts a particle somewhere else at once [m], without a velocity from the jump.
PLIANT_MUST_USE
enum pliant_status pliant_world_set_position(const struct pliant_world *world,
                                             struct pliant_body_id id,
                                             uint32_t particle,
                                             struct pliant_vec3 to);

// Gives a free particle a velocity [m/s].
PLIANT_MUST_USE
enum pliant_status pliant_world_set_velocity(const struct pliant_world *world,
                                             struct pliant_body_id id,
                                             uint32_t particle,
                                             struct pliant_vec3 velocity);

// Writes the moving state (positions, velocities, targets, time, what the method remembers) into `buffer` and how many bytes
// that takes into `size`. With `buffer` null only the size is written; a buffer that is too small is an error, with the size.
//
// # Safety
// `buffer` points to `capacity` bytes, or is null.
PLIANT_MUST_USE
enum pliant_status pliant_world_snapshot(const struct pliant_world *world,
                                         uint8_t *buffer,
                                         size_t capacity,
                                         size_t *size);

// Goes back, or forward, to a snapshot of this world or of one with equal bodies, colliders and method: every later step gives
// the same bits. Bytes that are cut off, damaged or of another world are refused, and the world is as it was.
//
// # Safety
// `bytes` points to `count` bytes.
PLIANT_MUST_USE
enum pliant_status pliant_world_restore(const struct pliant_world *world,
                                        const uint8_t *bytes,
                                        size_t count);

// Adds everything behind a plane through the place of `pose`; `normal` points out of the solid.
PLIANT_MUST_USE
enum pliant_status pliant_world_add_plane(const struct pliant_world *world,
                                          struct pliant_vec3 normal,
                                          struct pliant_pose pose,
                                          struct pliant_contact contact,
                                          struct pliant_collider_id *out);

// Adds a ball [m].
PLIANT_MUST_USE
enum pliant_status pliant_world_add_sphere(const struct pliant_world *world,
                                           double radius,
                                           struct pliant_pose pose,
                                           struct pliant_contact contact,
                                           struct pliant_collider_id *out);

// Adds a box with these full sides, around the place of `pose` [m].
PLIANT_MUST_USE
enum pliant_status pliant_world_add_box(const struct pliant_world *world,
                                        struct pliant_vec3 size,
                                        struct pliant_pose pose,
                                        struct pliant_contact contact,
                                        struct pliant_collider_id *out);

// Adds a capsule along y, `length` between the centres of its caps [m].
PLIANT_MUST_USE
enum pliant_status pliant_world_add_capsule(const struct pliant_world *world,
                                            double radius,
                                            double length,
                                            struct pliant_pose pose,
                                            struct pliant_contact contact,
                                            struct pliant_collider_id *out);

// Sends a collider to a new pose; it arrives at the end of the next step and carries along what it touches.
PLIANT_MUST_USE
enum pliant_status pliant_world_move_collider(const struct pliant_world *world,
                                              struct pliant_collider_id id,
                                              struct pliant_pose to);

// Takes a collider away for good.
PLIANT_MUST_USE
enum pliant_status pliant_world_remove_collider(const struct pliant_world *world,
                                                struct pliant_collider_id id);

// Positions of a body's particles, without a copy [m].
PLIANT_MUST_USE
enum pliant_status pliant_world_positions(const struct pliant_world *world,
                                          struct pliant_body_id id,
                                          struct pliant_columns *out);

// Velocities of a body's particles, without a copy [m/s].
PLIANT_MUST_USE
enum pliant_status pliant_world_velocities(const struct pliant_world *world,
                                           struct pliant_body_id id,
                                           struct pliant_columns *out);

// Surface triangles of a body, without a copy, by its particle numbers.
PLIANT_MUST_USE
enum pliant_status pliant_world_triangles(const struct pliant_world *world,
                                          struct pliant_body_id id,
                                          struct pliant_triangles *out);

// Writes positions packed x y z x y z ... into a vertex buffer with room for `capacity` particles [m].
//
// # Safety
// `to` points to three times `capacity` numbers.
PLIANT_MUST_USE
enum pliant_status pliant_world_write_vertices(const struct pliant_world *world,
                                               struct pliant_body_id id,
                                               float *to,
                                               size_t capacity);

// Writes unit normals packed x y z x y z ... into a buffer with room for `capacity` particles; zero without triangles.
//
// # Safety
// `to` points to three times `capacity` numbers.
PLIANT_MUST_USE
enum pliant_status pliant_world_write_normals(const struct pliant_world *world,
                                              struct pliant_body_id id,
                                              float *to,
                                              size_t capacity);

// Time since the world began [s].
PLIANT_MUST_USE enum pliant_status pliant_world_time(const struct pliant_world *world, double *out);

// A hash over every bit of the positions and velocities of all particles: equal on every backend and thread count. Time, targets
// and loads are not in it; snapshots hold them.
PLIANT_MUST_USE
enum pliant_status pliant_world_state_hash(const struct pliant_world *world,
                                           uint64_t *out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLIANT_H */
