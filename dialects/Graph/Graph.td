// SPDX-License-Identifier: Apache-2.0
//
// The whole dialect, family by family.
include "dialects/Graph/Elementwise.td"
include "dialects/Graph/Reduce.td"
include "dialects/Graph/Reduce/Cumulate.td"
include "dialects/Graph/Move.td"
include "dialects/Graph/Move/Index.td"
include "dialects/Graph/Move/Resize.td"
include "dialects/Graph/Move/Sample.td"
include "dialects/Graph/Move/Scatter.td"
include "dialects/Graph/Window.td"
include "dialects/Graph/Contract.td"
include "dialects/Graph/Program.td"
