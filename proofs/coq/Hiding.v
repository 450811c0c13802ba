(* The hidden split: David holds W_t = [V^T U + W' + tau E ; U], and Charlie decodes the product with
   W' from two multiples of what is left of a reply. Chapter: hiding.

   Ring elements are as in Lattice.v. V is a row of d ring elements, a d x N matrix, for each block of
   N rows of W'. A vector of d N residues is d ring elements, one after the other. *)
From Coq Require Import ZArith List.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking Planes Executable Lattice Primes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* -------------------------------------------------------------------------- vectors of elements *)
(* Place l N + t, its l and its t. *)
Lemma place_lt (d N : nat) (l : 'I_d) (t : 'I_N) : (l * N + t < d * N)%N.
Proof.
have l_lt := ltn_ord l; have t_lt := ltn_ord t; apply: (@leq_trans (l.+1 * N)).
  by rewrite mulSn addnC ltn_add2r.
by rewrite leq_mul2r l_lt orbT.
Qed.
Lemma element_lt (d N : nat) (k : 'I_(d * N)) : (k %/ N < d)%N.
Proof. by rewrite ltn_divLR ?ltn_ord //; case: N k => // k; move: (k); rewrite muln0 => -[]. Qed.
Lemma coefficient_lt (d N : nat) (k : 'I_(d * N)) : (k %% N < N)%N.
Proof. by rewrite ltn_mod; case: N k => // k; move: (k); rewrite muln0 => -[]. Qed.
Definition place (d N : nat) (l : 'I_d) (t : 'I_N) : 'I_(d * N) := Ordinal (place_lt l t).
Definition element_of (d N : nat) (k : 'I_(d * N)) : 'I_d := Ordinal (element_lt k).
Definition coefficient_of (d N : nat) (k : 'I_(d * N)) : 'I_N := Ordinal (coefficient_lt k).

(* The d ring elements of each column. *)
Definition elements (R : ringType) (d N b : nat) (y : 'M[R]_(d * N, b)) : 'M['rV[R]_N]_(b, d) :=
  \matrix_(c, l) \row_t y (place l t) c.

(* V^T y, by the products of the ring: entry b N + a is coefficient a of sum_l V[b][l] y[l]. *)
Definition times_secret (R : ringType) (M d N b : nat) (V : nat -> 'M[R]_(d, N))
    (y : 'M[R]_(d * N, b)) : 'M[R]_(M, b) :=
  \matrix_(i, c) (rVpoly (row c (ring_product (elements y) (V (i %/ N)%N))))`_(i %% N)%N.

(* V^T written out. *)
Definition written_out (R : ringType) (M d N : nat) (V : nat -> 'M[R]_(d, N)) : 'M[R]_(M, d * N) :=
  \matrix_(i, k) (let v := rVpoly (row (element_of k) (V (i %/ N)%N)) in
                  if (k %% N <= i %% N)%N then v`_(i %% N - k %% N) else - v`_(N + i %% N - k %% N)).

(* ----------------------------------------------------------------------------- what David holds *)
(* W' + tau E. *)
Definition noisy (tau M n : nat) (W E : 'M[int]_(M, n)) : 'M[int]_(M, n) := W + tau%:Z *: E.

(* A = V^T U + W' + tau E, and W_t. *)
Definition hidden_rows (L tau M n d N : nat) (W E : 'M[int]_(M, n)) (V : nat -> 'M[int]_(d, N))
    (U : 'M['Z_L]_(d * N, n)) : 'M['Z_L]_(M, n) :=
  times_secret M (fun b => embed_mx L (V b)) U + embed_mx L (noisy tau W E).
Definition davids_weights (L tau M n d N : nat) (W E : 'M[int]_(M, n)) (V : nat -> 'M[int]_(d, N))
    (U : 'M['Z_L]_(d * N, n)) : 'M['Z_L]_(M + d * N, n) :=
  col_mx (hidden_rows tau W E V U) U.

(* y_A - V^T y_U, where V^T y_U is computed with the error tau delta. *)
Definition remove (L tau M d N b : nat) (V : nat -> 'M[int]_(d, N)) (y : 'M['Z_L]_(M + d * N, b))
    (delta : 'M[int]_(M, b)) : 'M['Z_L]_(M, b) :=
  usubmx y
    - (times_secret M (fun b => embed_mx L (V b)) (dsubmx y) + embed L tau *: embed_mx L delta).

(* ------------------------------------------------------------------------------------- decoding *)
(* A row of the table of HIDE-2: R^2, B, s, tau, and two multipliers with their multiples of tau. *)
Record hidden_width : Type := HiddenWidth {
  row_square : nat;
  norm : nat;
  small : nat;
  small_root : nat;
  u_1 : int;
  v_1 : int;
  u_2 : int;
  v_2 : int
}.

Definition determinant (w : hidden_width) : int := u_1 w * v_2 w - u_2 w * v_1 w.

(* Z and B from a residue Z + tau B: the solution of u_j Z + v_j B = lift(u_j Y). The first is centred
   mod s. *)
Definition numerator (L : nat) (w : hidden_width) (Y : 'Z_L) : int :=
  v_2 w * lift (embed L (u_1 w) * Y) - v_1 w * lift (embed L (u_2 w) * Y).
Definition decode (L : nat) (w : hidden_width) (Y : 'Z_L) : int :=
  centred (small w) (numerator w Y %/ determinant w)%Z.

(* From what is left of a reply, and a cancellation. *)
Definition hidden_unmask (L m b : nat) (w : hidden_width) (y c : 'M['Z_L]_(m, b)) : 'M[int]_(m, b) :=
  map_mx (decode w) (y - c).

(* What u_j and v_j must be for the lifts to be two equations in Z and B. *)
Definition basis (L : nat) (w : hidden_width) : Prop :=
  [/\ (v_1 w = u_1 w * (small_root w)%:Z %[mod L%:Z])%Z,
      (v_2 w = u_2 w * (small_root w)%:Z %[mod L%:Z])%Z
    & absz (determinant w) = L].

(* abs(u_j) abs(Z) + abs(v_j) abs(B) <= (L-1)/2, for j = 1, 2. *)
Definition equations_fit (L : nat) (w : hidden_width) (Z B : int) : Prop :=
  (2 * (absz (u_1 w) * absz Z + absz (v_1 w) * absz B) + 1 <= L)%N /\
  (2 * (absz (u_2 w) * absz Z + absz (v_2 w) * absz B) + 1 <= L)%N.

(* 64 R, rounded up. *)
Definition scaled_root (w : hidden_width) : nat := root (64 ^ 2 * row_square w).

(* abs(u) (B^2 + s (75/8) R) + abs(v) ((R + 75/8) B + Delta) <= (L-1)/2, both sides times 8 64. *)
Definition fits (L Delta : nat) (w : hidden_width) (u v : int) : Prop :=
  (absz u * (8 * 64 * norm w ^ 2 + 75 * small w * scaled_root w)
   + absz v * ((8 * scaled_root w + 75 * 64) * norm w + 8 * 64 * Delta) <= 4 * 64 * (L - 1))%N.

(* The condition of HIDE-2. *)
Definition hidden_condition (L Delta : nat) (w : hidden_width) : Prop :=
  [/\ (small_root w ^ 2 = small w %[mod L])%N, basis L w,
      (1 < small w)%N /\ (2 * norm w ^ 2 < small w)%N,
      fits L Delta w (u_1 w) (v_1 w) & fits L Delta w (u_2 w) (v_2 w)].

(* abs(f e) <= (75/8) (abs(u) s R + abs(v) B), f = u s E_i + v W'_i, both sides times 8 64: for every
   row and every column of e. *)
Definition tail_within (M n b : nat) (w : hidden_width) (u v : int) (W E : 'M[int]_(M, n))
    (e : 'M[int]_(n, b)) : bool :=
  [forall i, forall c, (8 * 64 * absz ((((u * (small w)%:Z) *: E + v *: W) *m e) i c)
    <= 75 * (absz u * small w * scaled_root w + 64 * absz v * norm w))%N].

(* ------------------------------------------------------------------------------ the set hidden *)
Definition hidden : 'I_6 -> nat := @first_primes 6.

Definition int_of_Z (z : Z) : int :=
  match z with
  | Z0 => 0
  | Zpos p => (Pos.to_nat p)%:Z
  | Zneg p => - (Pos.to_nat p)%:Z
  end.

(* n, R^2, B, s, tau, u_1, v_1, u_2, v_2: HIDE-2's table. *)
Local Open Scope Z_scope.
Definition hidden_table : list (Z * Z * Z * Z * Z * Z * Z * Z * Z) :=
  [:: (64, 64, 2417, 11689577, 67385541262649, -2596, 1831849585, 95683, -65057364);
      (96, 96, 2172, 9439047, 154564924175515, 94130, 80072793, -2847, 1857856238);
      (128, 127, 2036, 8292601, 45270694512092, 95045, 54242648, -762, 1841934263);
      (192, 179, 1875, 7034647, 141120226416014, 95968, 47692201, 1355, -1823976242);
      (256, 226, 1740, 6056635, 119031886471910, 94939, 21967994, -1349, -1844738303);
      (384, 315, 1589, 5052243, 118983647248094, -96511, 45340124, 78, 1814346949);
      (512, 399, 1493, 4463318, 50377737265853, 5697, -1697872888, -103123, -3199771);
      (768, 561, 1357, 3683023, 63579297666527, -98657, -112063608, 661, 1775667707);
      (1024, 718, 1276, 3258719, 131330553077436, 102255, -10124021, 4, -1712464089);
      (1536, 1021, 1159, 2687482, 71066053310250, 2294, 1638900659, 106825, -14129044);
      (2048, 1317, 1072, 2299063, 97234407770624, -107457, -31329409, -407, -1629681882);
      (3072, 1896, 962, 1851852, 170860076830838, -110723, -10677267, 371, 1581531716);
      (4096, 2464, 888, 1583868, 164699464333749, 113357, -6314816, -286, -1544731855);
      (6144, 3583, 790, 1251326, 103345070613107, 3238, -1435691155, 121985, -7662328)].
Local Close Scope Z_scope.

Definition width_of (row : Z * Z * Z * Z * Z * Z * Z * Z * Z) : hidden_width :=
  let: (_, R_2, B, s, tau, u, v, u', v') := row in
  HiddenWidth (Z.to_nat R_2) (Z.to_nat B) (Z.to_nat s) (Z.to_nat tau) (int_of_Z u) (int_of_Z v)
    (int_of_Z u') (int_of_Z v').

(* -------------------------------------------------------------------------------- theory *)
Section Elements.
Variables (d N : nat).

Lemma element_of_place (l : 'I_d) (t : 'I_N) : element_of (place l t) = l.
Proof.
apply: val_inj; have t_lt := ltn_ord t; rewrite /= divnMDl ?divn_small ?addn0 //.
exact: leq_ltn_trans t_lt.
Qed.

Lemma coefficient_of_place (l : 'I_d) (t : 'I_N) : coefficient_of (place l t) = t.
Proof. by apply: val_inj; rewrite /= modnMDl modn_small. Qed.

Lemma place_of (k : 'I_(d * N)) : place (element_of k) (coefficient_of k) = k.
Proof. by apply: val_inj; rewrite /= -divn_eq. Qed.

Lemma sum_places (R : ringType) (F : 'I_(d * N) -> R) :
  \sum_k F k = \sum_l \sum_t F (place l t).
Proof.
rewrite pair_big /= (reindex (fun x : 'I_d * 'I_N => place x.1 x.2)) //=.
exists (fun k => (element_of k, coefficient_of k)) => [[l t]|k] _ /=; last exact: place_of.
by rewrite element_of_place coefficient_of_place.
Qed.

(* The products of the ring are the product with V^T written out. *)
Theorem HIDE_4_written_out (R : comRingType) M b (V : nat -> 'M[R]_(d, N))
    (y : 'M[R]_(d * N, b)) : (0 < N)%N ->
  times_secret M V y = written_out M V *m y.
Proof.
move=> N_gt0; apply/matrixP => i c; rewrite !mxE sum_places.
have a_lt : (i %% N < N)%N by rewrite ltn_mod.
rewrite -[(i %% N)%N]/(nat_of_ord (Ordinal a_lt)) coef_rVpoly_ord mxE mxE summxE.
apply: eq_bigr => l _; rewrite negacyclic_schoolbook.
rewrite [RHS](bigID (fun t : 'I_N => (t <= i %% N)%N)) /=; congr (_ + _); last rewrite -sumrN.
  rewrite big_mkcond [RHS]big_mkcond; apply: eq_bigr => t _; case: ifP => // t_le.
  rewrite !mxE element_of_place -[(place l t %% N)%N]/(nat_of_ord (coefficient_of (place l t))).
  by rewrite coefficient_of_place t_le mulrC.
apply: eq_big => t; first by rewrite ltnNge.
rewrite ltnNge => /negbTE t_gt.
rewrite !mxE element_of_place -[(place l t %% N)%N]/(nat_of_ord (coefficient_of (place l t))).
by rewrite coefficient_of_place t_gt mulNr mulrC.
Qed.
End Elements.

Lemma embed_eqmod (L : nat) (u v : int) : (1 < L)%N -> (u = v %[mod L%:Z])%Z ->
  embed L u = embed L v.
Proof. by move=> L_gt1; rewrite -!embed_mod // => -[e]; apply: val_inj. Qed.

(* A column of a block's masks, and of their cancellations. *)
Section Columns.
Variables (L tau m n N d : nat) (W : 'M[int]_(m, n)) (T : 'M['rV['Z_L]_N]_(n, d)).
Variables (S : 'M[int]_(d, N)) (e : 'M[int]_(n, N)) (delta : 'M[int]_(m, N)) (i : 'I_N).

Lemma column_masks : col i (lattice_masks tau T S e)
  = col i (ring_product T (embed_mx L S)) + embed L tau *: embed_mx L (col i e).
Proof. by apply/colP => a; rewrite [LHS]mxE [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE. Qed.

Lemma column_cancellations : col i (lattice_cancellations tau W T S delta)
  = embed_mx L W *m col i (ring_product T (embed_mx L S))
    + embed L tau *: embed_mx L (col i delta).
Proof.
rewrite -ring_column_constant.
by apply/colP => a; rewrite [LHS]mxE [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE.
Qed.
End Columns.

Section Removal.
Variables (L tau M n d N : nat).
Hypotheses (L_gt1 : (1 < L)%N) (N_gt0 : (0 < N)%N).
Variables (W E : 'M[int]_(M, n)) (V : nat -> 'M[int]_(d, N)) (U : 'M['Z_L]_(d * N, n)).

(* What is left of a right reply. *)
Lemma remove_product b (x : 'M['Z_L]_(n, b)) (delta : 'M[int]_(M, b)) :
  remove tau V (davids_weights tau W E V U *m x) delta
    = embed_mx L (noisy tau W E) *m x - embed L tau *: embed_mx L delta.
Proof.
rewrite /remove /davids_weights mul_col_mx col_mxKu col_mxKd /hidden_rows mulmxDl.
rewrite !HIDE_4_written_out // mulmxA opprD addrA; congr (_ - _).
by rewrite addrAC subrr add0r.
Qed.

(* With masks r0 + tau e and cancellations (W' + tau E) r0 + tau delta': it is Z + tau B. *)
Lemma removed b (s : nat) (q : 'M[int]_(n, b)) (r0 : 'M['Z_L]_(n, b)) (e : 'M[int]_(n, b))
    (delta delta' : 'M[int]_(M, b)) :
  embed L s = embed L (tau ^ 2)%N ->
  remove tau V (davids_weights tau W E V U *m mask q (r0 + embed L tau *: embed_mx L e)) delta
    - (embed_mx L (noisy tau W E) *m r0 + embed L tau *: embed_mx L delta')
  = embed_mx L (W *m q + s%:Z *: (E *m e))
    + embed L tau *: embed_mx L (E *m q + W *m e - (delta + delta')).
Proof.
move=> s_square; rewrite remove_product /mask !mulmxDr.
have -> : embed_mx L (noisy tau W E) *m embed_mx L q
    = embed_mx L (W *m q) + embed L tau *: embed_mx L (E *m q).
  by rewrite -embed_mxM // -embed_mxZ // -embed_mxD // /noisy mulmxDl scalemxAl.
have -> : embed_mx L (noisy tau W E) *m (embed L tau *: embed_mx L e)
    = embed_mx L (s%:Z *: (E *m e)) + embed L tau *: embed_mx L (W *m e).
  rewrite embed_mxZ // s_square -scalemxAr -embed_mxM // /noisy mulmxDl -scalemxAl embed_mxD //.
  rewrite embed_mxZ // scalerDr scalerA addrC; congr (_ *: _ + _).
  by rewrite -embedM; congr embed; rewrite -PoszM -expnS.
rewrite embed_mxD // [embed_mx L (_ - (_ + _))]embed_mxB // !embed_mxD // scalerBr !scalerDr.
move: (_ *m r0) (embed_mx L (W *m q)) (embed_mx L (_ *: (E *m e))) => C a b'.
move: (_ *: embed_mx L (E *m q)) (_ *: embed_mx L (W *m e)) => p p'.
move: (_ *: embed_mx L delta) (_ *: embed_mx L delta') => D D'.
rewrite [a + p + _]addrCA [a + p + _]addrACA -[C + _ - D]addrA [- (C + D')]opprD.
rewrite [LHS]addrACA subrr add0r opprD.
rewrite -!addrA.
by congr (_ + (_ + _)); rewrite !addrA.
Qed.

(* The same for a column of one block: what is left of a right reply is Z + tau B, with the errors of
   V^T y_U and of the cancellation. *)
Theorem HIDE_4_removed Nm dm (s : nat) (T : 'M['rV['Z_L]_Nm]_(n, dm)) (S : 'M[int]_(dm, Nm))
    (e : 'M[int]_(n, Nm)) (delta' : 'M[int]_(M, Nm)) (i : 'I_Nm) (q : 'cV[int]_n)
    (delta : 'cV[int]_M) :
  (tau ^ 2 = s %[mod L])%N ->
  remove tau V (davids_weights tau W E V U *m mask q (col i (lattice_masks tau T S e))) delta
    - col i (lattice_cancellations tau (noisy tau W E) T S delta')
  = embed_mx L (W *m q + s%:Z *: (E *m col i e))
    + embed L tau *: embed_mx L (E *m q + W *m col i e - (delta + col i delta')).
Proof.
move=> square; rewrite column_masks column_cancellations; apply: removed.
by apply: embed_eqmod => //; rewrite !modz_nat square.
Qed.
End Removal.

Section Decoding.
Variables (L : nat) (w : hidden_width).
Hypothesis L_gt1 : (1 < L)%N.
Notation tau := (small_root w).

Lemma lift_multiple (u v Z B : int) : (v = u * tau%:Z %[mod L%:Z])%Z ->
  in_lift_range L (u * Z + v * B) ->
  lift (embed L u * (embed L Z + embed L tau * embed L B)) = u * Z + v * B.
Proof.
move=> /(embed_eqmod L_gt1) e_v /(lift_embed L_gt1) <-; congr lift.
by rewrite embedD !embedM e_v embedM mulrDr mulrA.
Qed.

Hypothesis w_basis : basis L w.

Lemma determinant_neq0 : determinant w != 0.
Proof. by case: w_basis => _ _ e; rewrite -absz_eq0 e -lt0n ltnW. Qed.

(* The division leaves no remainder, whatever the residue is. *)
Theorem HIDE_5_divisible (Y : 'Z_L) : (determinant w %| numerator w Y)%Z.
Proof.
case: w_basis => e_1 e_2 e; rewrite dvdzE e -[L]/(absz L%:Z) -dvdzE -(embed_eq0 L_gt1) /numerator.
rewrite embedB !embedM !lift_embedK // (embed_eqmod L_gt1 e_1) (embed_eqmod L_gt1 e_2) !embedM.
by rewrite mulrACA [X in _ - X]mulrACA [embed L (u_2 w) * _]mulrC subrr.
Qed.

Section Residue.
Variables (Z B : int).
Hypothesis in_1 : in_lift_range L (u_1 w * Z + v_1 w * B).
Hypothesis in_2 : in_lift_range L (u_2 w * Z + v_2 w * B).
Let Y : 'Z_L := embed L Z + embed L tau * embed L B.

Lemma lifts : lift (embed L (u_1 w) * Y) = u_1 w * Z + v_1 w * B /\
  lift (embed L (u_2 w) * Y) = u_2 w * Z + v_2 w * B.
Proof. by case: w_basis => e_1 e_2 _; split; apply: lift_multiple. Qed.

Lemma numerator_solution : numerator w Y = determinant w * Z.
Proof. by rewrite /numerator !(proj1 lifts, proj2 lifts) /determinant; lia. Qed.

Lemma quotient_solution : (numerator w Y %/ determinant w)%Z = Z.
Proof. by rewrite numerator_solution mulKz // determinant_neq0. Qed.

(* A residue of Z mod s that is small is what is decoded. *)
Lemma decode_exact (p x : int) : (1 < small w)%N -> Z = p + (small w)%:Z * x ->
  (2 * absz p < small w)%N -> decode w Y = p.
Proof.
move=> s_gt1 e_Z p_small; rewrite /decode quotient_solution e_Z centred_multiple //.
exact: (centred_small L_gt1 s_gt1 p_small (leqnn _)).
Qed.
End Residue.

(* The two integers are determined by the residue. *)
Lemma solution_unique (Z B Z' B' : int) :
  in_lift_range L (u_1 w * Z + v_1 w * B) -> in_lift_range L (u_2 w * Z + v_2 w * B) ->
  in_lift_range L (u_1 w * Z' + v_1 w * B') -> in_lift_range L (u_2 w * Z' + v_2 w * B') ->
  embed L Z + embed L tau * embed L B = embed L Z' + embed L tau * embed L B' ->
  Z = Z' /\ B = B'.
Proof.
move=> in_1 in_2 in_1' in_2' e; have [l_1 l_2] := lifts in_1 in_2.
have [l_1' l_2'] := lifts in_1' in_2'; move: l_1' l_2'; rewrite -e l_1 l_2 => e_1 e_2.
split; apply: (mulfI determinant_neq0); rewrite /determinant.
  have solve z b : (u_1 w * v_2 w - u_2 w * v_1 w) * z
      = v_2 w * (u_1 w * z + v_1 w * b) - v_1 w * (u_2 w * z + v_2 w * b) by lia.
  by rewrite (solve Z B) e_1 e_2; lia.
have solve z b : (u_1 w * v_2 w - u_2 w * v_1 w) * b
    = u_1 w * (u_2 w * z + v_2 w * b) - u_2 w * (u_1 w * z + v_1 w * b) by lia.
by rewrite (solve Z B) e_1 e_2; lia.
Qed.

Lemma in_range_of_bound (u v Z B : int) :
  (2 * (absz u * absz Z + absz v * absz B) + 1 <= L)%N -> in_lift_range L (u * Z + v * B).
Proof.
move=> u_v; apply: (in_lift_range_bound L_gt1 u_v); rewrite -!abszM.
by move: (u * Z) (v * B) => x y; lia.
Qed.

(* Decoding: with both parts small, the lifts are u_j Z + v_j B, Z is the quotient, no other Z' and B'
   that are as small have the residue, and the centred residue of Z mod s is what is small in it. *)
Theorem HIDE_5_decoding (Z B : int) : let Y := embed L Z + embed L tau * embed L B in
  equations_fit L w Z B ->
  [/\ lift (embed L (u_1 w) * Y) = u_1 w * Z + v_1 w * B,
      lift (embed L (u_2 w) * Y) = u_2 w * Z + v_2 w * B,
      (numerator w Y %/ determinant w)%Z = Z,
      forall Z' B' : int, equations_fit L w Z' B' ->
        embed L Z' + embed L tau * embed L B' = Y -> Z' = Z /\ B' = B
    & forall p x : int, (1 < small w)%N -> Z = p + (small w)%:Z * x -> (2 * absz p < small w)%N ->
        decode w Y = p].
Proof.
move=> Y [/in_range_of_bound in_1 /in_range_of_bound in_2]; have [l_1 l_2] := lifts in_1 in_2.
split=> //; first exact: quotient_solution.
- move=> Z' B' [/in_range_of_bound in_1' /in_range_of_bound in_2'].
  exact: solution_unique in_1' in_2' in_1 in_2.
by move=> p x; apply: decode_exact.
Qed.
End Decoding.

Section Bounds.
Variables (L Delta : nat) (w : hidden_width) (M n b : nat).
Variables (W E : 'M[int]_(M, n)) (q e : 'M[int]_(n, b)).
Hypotheses (L_gt1 : (1 < L)%N).
Hypothesis W_in : forall i, (row_squares W i <= norm w ^ 2)%N.
Hypothesis E_in : forall i, (row_squares E i <= row_square w)%N.
Hypothesis q_in : within (norm w) q.

Lemma abs_entry_bound (A : 'M[int]_(M, n)) (C : nat) i c :
  (forall i, (row_squares A i <= C ^ 2)%N) -> (absz ((A *m q) i c) <= C * norm w)%N.
Proof.
move=> A_in; apply: leq_trans (abs_product_bound A i c q_in) _.
by rewrite /static_bound mulnC leq_mul2r (proj2 (weight_norm_least A C) A_in) orbT.
Qed.

(* Cauchy-Schwarz: abs(W'_i q) <= B^2 and abs(E_i q) <= R B. *)
Lemma abs_model_bound i c : (absz ((W *m q) i c) <= norm w ^ 2)%N.
Proof. by rewrite expnS expn1; apply: abs_entry_bound. Qed.

Lemma abs_error_bound i c : (64 * absz ((E *m q) i c) <= scaled_root w * norm w)%N.
Proof.
have R_in : (64 ^ 2 * row_square w <= scaled_root w ^ 2)%N by rewrite -rootP.
have := @abs_entry_bound (64%:Z *: E) (scaled_root w) i c.
have -> : ((64%:Z *: E) *m q) i c = 64%:Z * (E *m q) i c by rewrite -scalemxAl mxE.
rewrite abszM; apply => k.
apply: leq_trans R_in; rewrite /row_squares.
rewrite (eq_bigr (fun j => 64 ^ 2 * absz (E k j) ^ 2)%N) => [|j _]; last first.
  by rewrite mxE abszM expnMn.
by rewrite -big_distrr leq_mul2l; apply: E_in.
Qed.

Theorem HIDE_2_norms i c : (absz ((W *m q) i c) <= norm w ^ 2)%N /\
  (64 * absz ((E *m q) i c) <= scaled_root w * norm w)%N.
Proof. by split; [apply: abs_model_bound|apply: abs_error_bound]. Qed.

(* HIDE-2's condition keeps u Z + v B in the range of the lift. *)
Theorem HIDE_2_equation (u v : int) (delta : 'M[int]_(M, b)) i c :
  fits L Delta w u v -> tail_within w u v W E e -> at_most Delta delta ->
  in_lift_range L (u * (W *m q + (small w)%:Z *: (E *m e)) i c
                   + v * (E *m q + W *m e - delta) i c).
Proof.
move=> u_fits /forallP/(_ i)/forallP/(_ c) tail /forallP/(_ i)/forallP/(_ c) delta_in.
have -> : u * (W *m q + (small w)%:Z *: (E *m e)) i c + v * (E *m q + W *m e - delta) i c
    = u * (W *m q) i c + v * (E *m q) i c
      + (((u * (small w)%:Z) *: E + v *: W) *m e) i c - v * delta i c.
  rewrite mulmxDl -!scalemxAl.
  have entries (A B C D : 'M[int]_(M, b)) :
      u * (A + (small w)%:Z *: B) i c + v * (C + D - delta) i c
      = u * A i c + v * C i c + ((u * (small w)%:Z) *: B + v *: D) i c - v * delta i c.
    have rearranged (s' a b' p t D' : int) : u * (a + s' * b') + v * (p + t - D')
        = u * a + v * p + (u * s' * b' + v * t) - v * D' by lia.
    by rewrite !mxE; apply: rearranged.
  exact: entries.
have W_q := abs_model_bound i c; have E_q := abs_error_bound i c.
apply: (@in_lift_range_bound _ L_gt1 (absz (u * (W *m q) i c + v * (E *m q) i c
      + (((u * (small w)%:Z) *: E + v *: W) *m e) i c - v * delta i c)%R)); last by rewrite abszE.
move: u_fits tail W_q E_q delta_in; rewrite /fits.
move: ((W *m q) i c) ((E *m q) i c) ((_ *m e) i c) (delta i c) => a p t D.
move: (scaled_root w) (small w) (norm w) => R s B u_fits tail a_in p_in D_in.
have := leq_mul (leqnn (absz u)) a_in; have := leq_mul (leqnn (absz v)) p_in.
have := leq_mul (leqnn (absz v)) D_in; rewrite mulnCA -!abszM => D_le p_le a_le.
move: u_fits tail D_le p_le a_le.
move: (u * a)%R (v * p)%R (v * D)%R => x y z.
move: (absz u) (absz v) => U V.
by move=> *; lia.
Qed.
End Bounds.

Section Exact.
Variables (L Delta : nat) (w : hidden_width) (M n d N : nat).
Variables (W E : 'M[int]_(M, n)) (V : nat -> 'M[int]_(d, N)) (U : 'M['Z_L]_(d * N, n)).
Hypotheses (L_gt1 : (1 < L)%N) (N_gt0 : (0 < N)%N) (condition : hidden_condition L Delta w).
Hypothesis W_in : forall i, (row_squares W i <= norm w ^ 2)%N.
Hypothesis E_in : forall i, (row_squares E i <= row_square w)%N.
Notation tau := (small_root w).

(* Masks r0 + tau e, and cancellations (W' + tau E) r0 + tau delta': the product is W' q. *)
Lemma hidden_exact b (q : 'M[int]_(n, b)) (r0 : 'M['Z_L]_(n, b)) (e : 'M[int]_(n, b))
    (delta delta' : 'M[int]_(M, b)) :
  within (norm w) q -> tail_within w (u_1 w) (v_1 w) W E e -> tail_within w (u_2 w) (v_2 w) W E e ->
  at_most Delta (delta + delta') ->
  hidden_unmask w
      (remove tau V (davids_weights tau W E V U *m mask q (r0 + embed L tau *: embed_mx L e)) delta)
      (embed_mx L (noisy tau W E) *m r0 + embed L tau *: embed_mx L delta')
    = W *m q.
Proof.
case: condition => square w_basis [s_gt1 norm_small] fits_1 fits_2 q_in tail_1 tail_2 delta_in.
have s_square : embed L (small w) = embed L (tau ^ 2)%N.
  by apply: embed_eqmod => //; rewrite !modz_nat square.
rewrite /hidden_unmask (removed N_gt0 W E V U q r0 e delta delta' s_square).
apply/matrixP => i c; rewrite mxE.
have entry (A B : 'M[int]_(M, b)) : (embed_mx L A + embed L tau *: embed_mx L B) i c
    = embed L (A i c) + embed L tau * embed L (B i c) by rewrite !mxE.
rewrite entry; apply: (@decode_exact _ _ L_gt1 w_basis _ _ _ _ _ ((E *m e) i c)) => //.
- exact: HIDE_2_equation fits_1 tail_1 delta_in.
- exact: HIDE_2_equation fits_2 tail_2 delta_in.
- by rewrite [LHS]mxE; congr (_ + _); rewrite mxE.
apply: leq_ltn_trans norm_small; rewrite leq_mul2l.
exact: abs_model_bound.
Qed.

(* The same for a column of one block. *)
Theorem HIDE_5_exact Nm dm (T : 'M['rV['Z_L]_Nm]_(n, dm)) (S : 'M[int]_(dm, Nm))
    (e : 'M[int]_(n, Nm)) (delta' : 'M[int]_(M, Nm)) (i : 'I_Nm) (q : 'cV[int]_n)
    (delta : 'cV[int]_M) :
  within (norm w) q -> tail_within w (u_1 w) (v_1 w) W E (col i e) ->
  tail_within w (u_2 w) (v_2 w) W E (col i e) -> at_most Delta (delta + col i delta') ->
  hidden_unmask w
      (remove tau V (davids_weights tau W E V U *m mask q (col i (lattice_masks tau T S e))) delta)
      (col i (lattice_cancellations tau (noisy tau W E) T S delta'))
    = W *m q.
Proof.
move=> q_in tail_1 tail_2 delta_in.
rewrite column_masks column_cancellations; exact: hidden_exact.
Qed.
End Exact.

(* ------------------------------------------------------------------------------ the set hidden *)
Lemma int_of_ZK (z : Z) : Z_of_int (int_of_Z z) = z.
Proof. by case: z => [//|p|p] /=; rewrite ?oppz_Z ?Z_of_int_nat; lia. Qed.

Lemma hidden_different : different_primes hidden.
Proof. exact: first_primes_different. Qed.

Lemma hidden_modulus : Z.of_nat (modulus hidden) = Zpos 175107974924611%positive.
Proof.
rewrite /modulus (big_morph Z.of_nat muln_Z (erefl (Z.of_nat 1))) !big_ord_recl big_ord0.
by vm_compute.
Qed.

(* The condition, computed on the integers of the Coq distribution. *)
Local Open Scope Z_scope.
Definition fits_Z (L Delta B s R u v : Z) : bool :=
  Z.abs u * (8 * 64 * (B * B) + 75 * s * R) + Z.abs v * ((8 * R + 75 * 64) * B + 8 * 64 * Delta)
    <=? 4 * 64 * (L - 1).
Definition condition_Z (L Delta : Z) (row : Z * Z * Z * Z * Z * Z * Z * Z * Z) : bool :=
  let: (_, R_2, B, s, tau, u, v, u', v') := row in
  let R := Z.sqrt_up (64 * 64 * R_2) in
  [&& (0 <=? R_2), (0 <=? B), (1 <? s), (2 * (B * B) <? s), (0 <=? tau),
      (tau * tau mod L =? s mod L), (v mod L =? (u * tau) mod L), (v' mod L =? (u' * tau) mod L),
      (Z.abs (u * v' - u' * v) =? L), fits_Z L Delta B s R u v & fits_Z L Delta B s R u' v'].
Local Close Scope Z_scope.

Lemma fits_of_Z (L Delta : nat) (w : hidden_width) (B s R u v : Z) (u' v' : int) :
  Z.of_nat (norm w) = B -> Z.of_nat (small w) = s -> Z_of_int u' = u -> Z_of_int v' = v ->
  (Z.le (Z.of_nat (scaled_root w)) R) -> (0 < L)%N ->
  fits_Z (Z.of_nat L) (Z.of_nat Delta) B s R u v -> fits L Delta w u' v'.
Proof.
move=> <- <- <- <- R_le L_gt0 /Z.leb_le; rewrite /fits expnS expn1.
move: (norm w) (small w) (scaled_root w) R_le => b c r R_le.
rewrite -!absz_Z; move: (absz u') (absz v') => U V.
have c_r : Z.le (Z.mul (Z.of_nat (U * c)) (Z.of_nat r)) (Z.mul (Z.of_nat (U * c)) R).
  by apply: Z.mul_le_mono_nonneg_l => //; lia.
have r_b : Z.le (Z.mul (Z.of_nat (V * b)) (Z.of_nat r)) (Z.mul (Z.of_nat (V * b)) R).
  by apply: Z.mul_le_mono_nonneg_l => //; lia.
by move=> *; lia.
Qed.

Lemma condition_of_Z (L Delta : nat) row : (1 < L)%N ->
  condition_Z (Z.of_nat L) (Z.of_nat Delta) row -> hidden_condition L Delta (width_of row).
Proof.
move: row => [[[[[[[[n R_2] B] s] tau] u] v] u'] v'] L_gt1 /and5P[].
move=> /Z.leb_le R_ge0 /Z.leb_le B_ge0 /Z.ltb_lt s_gt1 /Z.ltb_lt B_small /and5P[].
move=> /Z.leb_le tau_ge0 /Z.eqb_eq square /Z.eqb_eq e_1 /Z.eqb_eq e_2 /and3P[/Z.eqb_eq det f_1 f_2].
have L_gt0 := ltnW L_gt1; set w := width_of _.
have B_Z : Z.of_nat (norm w) = B by rewrite /= Z2Nat.id.
have s_Z : Z.of_nat (small w) = s by rewrite /= Z2Nat.id //; lia.
have tau_Z : Z.of_nat (small_root w) = tau by rewrite /= Z2Nat.id.
have R_Z : Z.of_nat (row_square w) = R_2 by rewrite /= Z2Nat.id.
have [u_Z v_Z u'_Z v'_Z] : [/\ Z_of_int (u_1 w) = u, Z_of_int (v_1 w) = v, Z_of_int (u_2 w) = u'
    & Z_of_int (v_2 w) = v'] by split; apply: int_of_ZK.
have root_le : Z.le (Z.of_nat (scaled_root w)) (Z.sqrt_up (64 * 64 * R_2)).
  have X_ge0 := Z.sqrt_up_nonneg (64 * 64 * R_2).
  have X_square : Z.le (64 * 64 * R_2) (Z.sqrt_up (64 * 64 * R_2) * Z.sqrt_up (64 * 64 * R_2)).
    case: (Z.eq_dec R_2 0) => [->//|R_neq0].
    by have [|_] := Z.sqrt_up_spec (64 * 64 * R_2); lia.
  rewrite -(Z2Nat.id _ X_ge0); apply: (proj1 (Nat2Z.inj_le _ _)).
  apply/ssrnat.leP; rewrite /scaled_root rootP -!mulnn.
  by apply/ssrnat.leP/(proj2 (Nat2Z.inj_le _ _)); rewrite !muln_Z R_Z !Z2Nat.id.
move: w B_Z s_Z tau_Z R_Z u_Z v_Z u'_Z v'_Z root_le => w B_Z s_Z tau_Z R_Z u_Z v_Z u'_Z v'_Z root_le.
split.
- apply: Nat2Z.inj; rewrite !remainder_Z // expnS expn1 muln_Z tau_Z s_Z; exact: square.
- split; last first.
  + by apply: Nat2Z.inj; rewrite absz_Z /determinant addz_Z oppz_Z !mulz_Z u_Z v_Z u'_Z v'_Z.
  + by apply: Z_of_int_inj; rewrite !modz_Z // mulz_Z u'_Z v'_Z Z_of_int_nat tau_Z.
  by apply: Z_of_int_inj; rewrite !modz_Z // mulz_Z u_Z v_Z Z_of_int_nat tau_Z.
- by rewrite expnS expn1; split; lia.
- exact: fits_of_Z B_Z s_Z u_Z v_Z root_le L_gt0 f_1.
exact: fits_of_Z B_Z s_Z u'_Z v'_Z root_le L_gt0 f_2.
Qed.

Lemma table_Z : List.forallb (condition_Z 175107974924611 4096) hidden_table = true.
Proof. by vm_compute. Qed.

Lemma hidden_modulus_gt1 : (1 < modulus hidden)%N.
Proof. exact: modulus_gt1 hidden_different. Qed.

Lemma hidden_least (i : 'I_6) : (227 <= hidden i)%N.
Proof. by case: i => [[|[|[|[|[|[|//]]]]]] lt_i]; vm_compute. Qed.

(* HIDE-2's table, by computation. *)
Theorem HIDE_2_table row : List.In row hidden_table ->
  hidden_condition (modulus hidden) 4096 (width_of row).
Proof.
move/(proj1 (List.forallb_forall _ _) table_Z) => row_ok; apply: (condition_of_Z hidden_modulus_gt1).
by rewrite hidden_modulus.
Qed.

(* Every tau of the table is a unit mod L. *)
Local Open Scope Z_scope.
Definition unit_Z (row : Z * Z * Z * Z * Z * Z * Z * Z * Z) : bool :=
  let: (_, _, _, _, tau, _, _, _, _) := row in
  (0 <=? tau) && List.forallb (fun q : nat => negb (tau mod Z.of_nat q =? 0)) all_primes.
Local Close Scope Z_scope.

Lemma units_Z : List.forallb unit_Z hidden_table = true.
Proof. by vm_compute. Qed.

Theorem HIDE_2_units row : List.In row hidden_table ->
  coprime (small_root (width_of row)) (modulus hidden).
Proof.
move/(proj1 (List.forallb_forall _ _) units_Z).
move: row => [[[[[[[[n R_2] B] s] tau] u] v] u'] v'] /andP[/Z.leb_le tau_ge0 all_q].
rewrite -[small_root _]/(Z.to_nat tau).
have no_factor := proj1 (List.forallb_forall _ _) all_q.
apply: coprime_prod; apply/allP => i _.
have [_ p_prime _] := hidden_different; rewrite coprime_sym prime_coprime //.
have i_in : List.In (hidden i) all_primes.
  by case: i => [[|[|[|[|[|[|//]]]]]] lt_i] /=; do ?[by left|right].
have := no_factor _ i_in; apply: contra => /eqP e; apply/Z.eqb_eq.
by rewrite -(Z2Nat.id tau) // -remainder_Z ?prime_gt0 // e.
Qed.
