// A curtain that is pulled over a ball in the wind: the C interface from end to end.
//
//   cargo build --release -p pliant-ffi
//   cc -std=c11 -I ffi/include ffi/examples/curtain.c target/release/libpliant_ffi.a -lm -lpthread -ldl -o curtain && ./curtain
//
// The last line is a hash over every bit of the state: the same program in Rust prints the same one (ffi/tests/c_example.rs).

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pliant.h"

enum { SIDE = 24, FRAMES = 90 };

// Ends the program with the message of the call that failed.
static void check(pliant_status status)
{
    if (status != PLIANT_STATUS_OK) {
        fprintf(stderr, "pliant: %s (status %d)\n", pliant_last_error(), (int)status);
        exit(EXIT_FAILURE);
    }
}

// Ends the program unless a call was refused as it should be.
static void refuse(pliant_status status, pliant_status expected)
{
    if (status != expected) {
        fprintf(stderr, "expected status %d, not %d: %s\n", (int)expected, (int)status, pliant_last_error());
        exit(EXIT_FAILURE);
    }
}

static uint64_t hash_of(const pliant_world *world)
{
    uint64_t hash;
    check(pliant_world_state_hash(world, &hash));
    return hash;
}

// A frame of 1/60 s: the left pin wanders, the ball comes closer.
static void advance(const pliant_world *world, pliant_body_id curtain, pliant_collider_id ball, int frame)
{
    double t = frame / 60.0;
    check(pliant_world_move_pin(world, curtain, 0, (pliant_vec3){ 0.2 * t, 0.0, 0.0 }));
    check(pliant_world_move_collider(world, ball, (pliant_pose){ .translation = { 0.5, -0.4, 0.6 - 0.25 * t } }));
    check(pliant_world_step(world, 1.0f / 60.0f));
}

int main(int count, char **arguments)
{
    // The backend can be named: every one of them prints the same hash.
    pliant_world_options options = { .method = "xpbd-colored", .substeps = 8, .threads = 2 };
    options.backend = count > 1 ? arguments[1] : "parallel";
    pliant_world *world;
    check(pliant_world_create(&options, &world));

    pliant_body *cloth;
    check(pliant_body_cloth(SIDE, SIDE, 1.0, 1.0, &cloth));
    check(pliant_body_set_mass(cloth, 0.2));
    check(pliant_body_set_thickness(cloth, 0.005));
    check(pliant_body_set_compliance(cloth, "bend", 1e-3));
    check(pliant_body_pin(cloth, (uint32_t[]){ 0, SIDE - 1 }, 2));
    pliant_body_id curtain;
    check(pliant_world_add(world, cloth, &curtain));
    pliant_body_destroy(cloth);

    pliant_contact rough = { .friction = 0.3 };
    pliant_collider_id ball, floor;
    check(pliant_world_add_sphere(world, 0.2, (pliant_pose){ .translation = { 0.5, -0.4, 0.6 } }, rough, &ball));
    check(pliant_world_add_plane(world, (pliant_vec3){ 0, 1, 0 }, (pliant_pose){ .translation = { 0, -1.2, 0 } }, rough,
                                 &floor));
    check(pliant_world_set_wind(world, &(pliant_wind){ { 0, 0, -2 }, .density = 1.2, .drag = 1.0, .lift = 0.5 }));
    check(pliant_world_set_damping(world, 0.1));

    size_t size = 0;
    unsigned char *snapshot = NULL;
    for (int frame = 1; frame <= FRAMES; frame++) {
        advance(world, curtain, ball, frame);
        if (frame == FRAMES / 2) {
            check(pliant_world_snapshot(world, NULL, 0, &size));
            snapshot = malloc(size);
            check(pliant_world_snapshot(world, snapshot, size, &size));
        }
    }
    uint64_t hash = hash_of(world);

    // Straight from the world's memory, until the next call that changes the world.
    pliant_columns at;
    check(pliant_world_positions(world, curtain, &at));
    float lowest = at.y[0];
    for (size_t i = 1; i < at.count; i++)
        lowest = fminf(lowest, at.y[i]);
    printf("%zu particles, lowest at %.3f m, snapshot of %zu bytes\n", at.count, lowest, size);

    // Packed for a vertex buffer.
    float *vertices = malloc(at.count * 3 * sizeof *vertices);
    check(pliant_world_write_vertices(world, curtain, vertices, at.count));
    if (vertices[3 * at.count - 1] != at.z[at.count - 1])
        return EXIT_FAILURE;
    refuse(pliant_world_write_vertices(world, curtain, vertices, at.count - 1), PLIANT_STATUS_BAD_LENGTH);
    free(vertices);

    // Back to the middle, and the same way again.
    check(pliant_world_restore(world, snapshot, size));
    for (int frame = FRAMES / 2 + 1; frame <= FRAMES; frame++)
        advance(world, curtain, ball, frame);
    if (hash_of(world) != hash) {
        fprintf(stderr, "the second run differs\n");
        return EXIT_FAILURE;
    }

    // Mistakes are errors with a message and change nothing.
    refuse(pliant_world_restore(world, snapshot, size - 1), PLIANT_STATUS_BAD_SNAPSHOT);
    refuse(pliant_world_step(world, NAN), PLIANT_STATUS_BAD_STEP);
    refuse(pliant_world_step(NULL, 0.01f), PLIANT_STATUS_NULL_POINTER);
    refuse(pliant_world_set_method(world, "magic", 0, 0), PLIANT_STATUS_UNKNOWN_NAME);
    refuse(pliant_world_move_pin(world, curtain, 0, (pliant_vec3){ INFINITY, 0, 0 }), PLIANT_STATUS_BAD_VALUE);
    check(pliant_world_remove_collider(world, floor));
    refuse(pliant_world_move_collider(world, floor, (pliant_pose){ 0 }), PLIANT_STATUS_NOT_FOUND);
    if (hash_of(world) != hash)
        return EXIT_FAILURE;

    free(snapshot);
    pliant_world_destroy(world);
    printf("state hash %016" PRIx64 "\n", hash);
    return EXIT_SUCCESS;
}
