/** @file
 * The version of this library, of the protocol that it speaks, and of the artifacts that it writes
 * and reads. For C and C++. */
#ifndef SLIP_VERSION_H
#define SLIP_VERSION_H

/** Of the library; before 1.0 a minor version may change anything.
 * @{ */
#define SLIP_VERSION_MAJOR 0
#define SLIP_VERSION_MINOR 2
#define SLIP_VERSION_PATCH 0
#define SLIP_VERSION "0.2.0"
/** @} */

/** PARAM-4. Both sides refuse every other. */
#define SLIP_PROTOCOL_VERSION 2
/** PARAM-4. Every other is refused. */
#define SLIP_ARTIFACT_VERSION 3

#endif
