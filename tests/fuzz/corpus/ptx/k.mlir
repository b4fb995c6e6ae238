tt.func public @k(%arg0: !tt.ptr<f32>, %n: i32) {}
