/* SPDX-License-Identifier: MIT */
/* What the mock exports, unless a test sets another value by -D. */
#ifndef MOCK_ID
#define MOCK_ID "Mock"
#endif
#ifndef MOCK_GET_ID
#define MOCK_GET_ID MOCK_ID
#endif
#ifndef MOCK_MAJOR
#define MOCK_MAJOR ARMNN_BACKEND_API_MAJOR
#endif
#ifndef MOCK_MINOR
#define MOCK_MINOR ARMNN_BACKEND_TARGET_MINOR
#endif
#ifndef MOCK_TABLE_MINOR
#define MOCK_TABLE_MINOR MOCK_MINOR
#endif
#ifndef MOCK_STRUCT_ID
#define MOCK_STRUCT_ID ARMNN_BACKEND_API_ID
#endif
#ifndef MOCK_STRUCT_SIZE
#define MOCK_STRUCT_SIZE ARMNN_BACKEND_API_SIZE
#endif
#ifndef MOCK_FACTORY
#define MOCK_FACTORY ((void *)(uintptr_t)&table)
#endif
