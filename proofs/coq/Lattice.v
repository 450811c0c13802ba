(* Lattice masks: masks and cancellations from a module over Z_L[X]/(X^N + 1). Chapter: masking.

   A ring element is its N coefficients. A vector of m ring elements is an m x N matrix: row j holds
   the coefficients of element j, so coefficient i of the vector is column i. A matrix of ring
   elements is a matrix of rows. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------------ the ring *)
(* Coefficient i of x y, where X^N = -1: products of degree i, less those of degree N + i. *)
Definition negacyclic (R : ringType) (N : nat) (x y : 'rV[R]_N) : 'rV[R]_N :=
  \row_i (\sum_(a < N) \sum_(b < N | (a + b == i)%N) x 0 a * y 0 b
          - \sum_(a < N) \sum_(b < N | (a + b == N + i)%N) x 0 a * y 0 b).

(* T S, for a matrix T and a vector S of ring elements. *)
Definition ring_product (R : ringType) (N n d : nat) (T : 'M['rV[R]_N]_(n, d)) (S : 'M[R]_(d, N)) :
    'M[R]_(n, N) :=
  \matrix_(j, i) (\sum_l negacyclic (T j l) (row l S)) 0 i.

(* W T, for a matrix W over Z_L: its entries are constants of the ring. *)
Definition constant_product (R : ringType) (N m n d : nat) (W : 'M[R]_(m, n))
    (T : 'M['rV[R]_N]_(n, d)) : 'M['rV[R]_N]_(m, d) :=
  \matrix_(k, l) \sum_j W k j *: T j l.

(* c T, for a constant c. *)
Definition scale (R : ringType) (N n d : nat) (c : R) (T : 'M['rV[R]_N]_(n, d)) :
    'M['rV[R]_N]_(n, d) :=
  map_mx (fun x => c *: x) T.

(* ----------------------------------------------------------------------- masks of a block *)
(* The N masks of a block, in columns: coefficients of T S, and tau times the noise. *)
Definition lattice_masks (L tau N n d : nat) (T : 'M['rV['Z_L]_N]_(n, d)) (S : 'M[int]_(d, N))
    (e : 'M[int]_(n, N)) : 'M['Z_L]_(n, N) :=
  ring_product T (embed_mx L S) + embed L tau *: embed_mx L e.

(* Their cancellations: coefficients of H S, H = W_D T, computed with the error tau delta. *)
Definition lattice_cancellations (L tau N m n d : nat) (W_D : 'M[int]_(m, n))
    (T : 'M['rV['Z_L]_N]_(n, d)) (S : 'M[int]_(d, N)) (delta : 'M[int]_(m, N)) :
    'M['Z_L]_(m, N) :=
  ring_product (constant_product (embed_mx L W_D) T) (embed_mx L S)
    + embed L tau *: embed_mx L delta.

(* v modulo tau, in the range of the lift. *)
Definition centred (tau : nat) (v : int) : int := lift (embed tau v).

(* Y = lift(y~ - c mod L), and the product Y centred mod tau. *)
Definition lattice_unmask (L tau m b : nat) (y c : 'M['Z_L]_(m, b)) : 'M[int]_(m, b) :=
  map_mx (centred tau) (unmask y c).

(* No entry is larger than B. *)
Definition at_most (m b B : nat) (A : 'M[int]_(m, b)) : bool :=
  [forall k, forall c, (absz (A k c) <= B)%N].

(* MASK-9's condition: for products of at most B the noise and the error fit beside them, and the
   products fit in tau. *)
Definition lattice_condition (L tau noise_bound error_bound B : nat) : Prop :=
  (2 * (tau * (noise_bound + error_bound) + B) + 1 <= L)%N /\ (2 * B < tau)%N.

(* -------------------------------------------------------------------------------- theory *)
Section Ring.
Variables (R : comRingType) (N : nat).
Implicit Types x y z : 'rV[R]_N.

Lemma negacyclicDl x y z : negacyclic (x + y) z = negacyclic x z + negacyclic y z.
Proof.
have dist (P : 'I_N -> 'I_N -> bool) : \sum_(a < N) \sum_(b < N | P a b) (x + y) 0 a * z 0 b
    = \sum_(a < N) \sum_(b < N | P a b) x 0 a * z 0 b
      + \sum_(a < N) \sum_(b < N | P a b) y 0 a * z 0 b.
  rewrite -big_split /=; apply: eq_bigr => a _; rewrite -big_split /=.
  by apply: eq_bigr => b _; rewrite mxE mulrDl.
by apply/rowP => i; rewrite !mxE !dist opprD addrACA.
Qed.

Lemma negacyclicZl c x y : negacyclic (c *: x) y = c *: negacyclic x y.
Proof.
have dist (P : 'I_N -> 'I_N -> bool) : \sum_(a < N) \sum_(b < N | P a b) (c *: x) 0 a * y 0 b
    = c * \sum_(a < N) \sum_(b < N | P a b) x 0 a * y 0 b.
  rewrite mulr_sumr; apply: eq_bigr => a _; rewrite mulr_sumr.
  by apply: eq_bigr => b _; rewrite mxE mulrA.
by apply/rowP => i; rewrite !mxE !dist mulrBr.
Qed.

Lemma negacyclic0l y : negacyclic 0 y = 0.
Proof. by have := negacyclicZl 0 0 y; rewrite !scale0r. Qed.

Lemma negacyclic_suml (I : finType) (f : I -> 'rV[R]_N) y :
  negacyclic (\sum_j f j) y = \sum_j negacyclic (f j) y.
Proof.
by rewrite (big_morph (fun x => negacyclic x y) (fun a b => negacyclicDl a b y) (negacyclic0l y)).
Qed.

(* (W T) S = W (T S), in each coefficient. *)
Lemma ring_product_constant m n d (W : 'M[R]_(m, n)) (T : 'M['rV[R]_N]_(n, d)) (S : 'M[R]_(d, N)) :
  ring_product (constant_product W T) S = W *m ring_product T S.
Proof.
apply/matrixP => k i; rewrite !mxE summxE.
transitivity (\sum_l \sum_j W k j * negacyclic (T j l) (row l S) 0 i).
  apply: eq_bigr => l _; rewrite [constant_product W T k l]mxE negacyclic_suml summxE.
  by apply: eq_bigr => j _; rewrite negacyclicZl mxE.
rewrite exchange_big /=; apply: eq_bigr => j _.
by rewrite [ring_product T S j i]mxE summxE mulr_sumr.
Qed.

Lemma ring_product_scale n d c (T : 'M['rV[R]_N]_(n, d)) (S : 'M[R]_(d, N)) :
  ring_product (scale c T) S = c *: ring_product T S.
Proof.
apply/matrixP => j i; rewrite !mxE !summxE mulr_sumr; apply: eq_bigr => l _.
by rewrite [scale c T j l]mxE negacyclicZl mxE.
Qed.

(* The ring is that of polynomials modulo X^N + 1. *)
Lemma negacyclic_polynomial x y : (0 < N)%N ->
  rVpoly (negacyclic x y) = Pdiv.Ring.rmodp (rVpoly x * rVpoly y) ('X^N + 1).
Proof.
move=> N_gt0; set f := 'X^N + 1 : {poly R}.
have size_f : size f = N.+1 by rewrite size_addl ?size_polyXn // size_poly1 ltnS.
have f_monic : f \is monic.
  by rewrite monicE lead_coefDl ?lead_coefXn // size_polyXn size_poly1 ltnS.
have small (k : nat) (c : R) : (k < N)%N -> Pdiv.Ring.rmodp (c *: 'X^k) f = c *: 'X^k.
  move=> k_lt; apply: Pdiv.Ring.rmodp_small; rewrite size_f ltnS.
  by apply: leq_trans (size_scale_leq _ _) _; rewrite size_polyXn.
have term (a b : 'I_N) (c : R) : Pdiv.Ring.rmodp (c *: 'X^(a + b)) f
    = \poly_(i < N) (c * ((a + b == i)%N%:R - (a + b == N + i)%N%:R)).
  have a_lt := ltn_ord a; have b_lt := ltn_ord b; apply/polyP => i; rewrite coef_poly.
  case: (ltnP (a + b) N) => ab.
    rewrite small // coefZ coefXn; case: ltnP => i_N.
      rewrite [(a + b == N + i)%N](_ : _ = false) ?subr0 1?eq_sym //.
      by apply/eqP; lia.
    by rewrite [(i == _)](_ : _ = false) ?mulr0 //; apply/eqP; lia.
  have -> : c *: 'X^(a + b) = (c *: 'X^(a + b - N)) * f + - c *: 'X^(a + b - N).
    rewrite /f mulrDr mulr1 -scalerAl -exprD subnK // -addrA -scalerDl subrr scale0r addr0.
    by [].
  rewrite Pdiv.RingMonic.rmodp_addl_mul_small //; last first.
    rewrite size_f ltnS; apply: leq_trans (size_scale_leq _ _) _; rewrite size_polyXn; lia.
  rewrite coefZ coefXn; case: ltnP => i_N.
    rewrite [(a + b == i)%N](_ : _ = false) ?sub0r ?mulrN ?mulNr; last by apply/eqP; lia.
    by congr (- (_ * _%:R)); congr nat_of_bool; apply/eqP/eqP; lia.
  by rewrite [(i == _)](_ : _ = false) ?mulr0 //; apply/eqP; lia.
have row_sum (z : 'rV[R]_N) : rVpoly z = \sum_(a < N) z 0 a *: 'X^a.
  by rewrite /rVpoly poly_def; apply: eq_bigr => a _; rewrite valK.
have modp_sum (F : 'I_N -> {poly R}) :
    Pdiv.Ring.rmodp (\sum_a F a) f = \sum_a Pdiv.Ring.rmodp (F a) f.
  elim/big_rec2: _ => [|a z z' _ <-]; first exact: Pdiv.Ring.rmod0p.
  exact: Pdiv.RingMonic.rmodpD.
rewrite (row_sum x) (row_sum y) big_distrl /= modp_sum; apply/polyP => i; rewrite coef_sum.
under eq_bigr do rewrite big_distrr /= modp_sum coef_sum.
under eq_bigr => a _. under eq_bigr => b _.
  rewrite -scalerAl -scalerAr scalerA -exprD term coef_poly; over. over.
case: (ltnP i N) => i_N; last first.
  rewrite nth_default ?(leq_trans (size_poly _ _)) // big1 // => a _; exact: big1.
rewrite (coef_rVpoly_ord _ (Ordinal i_N)) mxE -sumrB; apply: eq_bigr => a _.
rewrite big_mkcond [X in _ - X]big_mkcond -sumrB; apply: eq_bigr => b _ /=.
by do 2!case: eqP => _; rewrite ?mulr1n ?mulr0n ?subr0 ?sub0r ?subrr ?mulr0 ?mulr1 ?mulrN1.
Qed.

(* The usual form: coefficient k of y is rVpoly y`_k. *)
Lemma negacyclic_schoolbook x y i :
  negacyclic x y 0 i
    = \sum_(j < N | (j <= i)%N) x 0 j * (rVpoly y)`_(i - j)
      - \sum_(j < N | (i < j)%N) x 0 j * (rVpoly y)`_(N + i - j).
Proof.
have i_lt := ltn_ord i; rewrite mxE; congr (_ - _); rewrite [RHS]big_mkcond;
  apply: eq_bigr => a _; have a_lt := ltn_ord a; case: leqP => a_i.
- have b_lt : (i - a < N)%N by lia.
  rewrite (coef_rVpoly_ord _ (Ordinal b_lt)) (big_pred1 (Ordinal b_lt)) // => b.
  by apply/eqP/eqP => [e|->/=]; [apply: val_inj => /=|]; lia.
- by rewrite big_pred0 // => b; apply/eqP; lia.
- by rewrite big_pred0 // => b; apply/eqP; have := ltn_ord b; lia.
have b_lt : (N + i - a < N)%N by lia.
rewrite (coef_rVpoly_ord _ (Ordinal b_lt)) (big_pred1 (Ordinal b_lt)) // => b.
by apply/eqP/eqP => [e|->/=]; [apply: val_inj => /=|]; lia.
Qed.
End Ring.

Lemma col_product (R : ringType) m n b (A : 'M[R]_(m, n)) (B : 'M[R]_(n, b)) i :
  col i (A *m B) = A *m col i B.
Proof. by apply/colP => k; rewrite !mxE; apply: eq_bigr => j _; rewrite mxE. Qed.

Lemma ring_column_constant (R : comRingType) N m n d (W : 'M[R]_(m, n)) (T : 'M['rV[R]_N]_(n, d))
    (S : 'M[R]_(d, N)) i :
  col i (ring_product (constant_product W T) S) = W *m col i (ring_product T S).
Proof. by rewrite ring_product_constant col_product. Qed.

Section Exact.
Variables (L tau : nat).
Hypotheses (L_gt1 : (1 < L)%N) (tau_gt1 : (1 < tau)%N).

Lemma embed_mxB m n (A B : 'M[int]_(m, n)) : embed_mx L (A - B) = embed_mx L A - embed_mx L B.
Proof. by apply/matrixP => i j; rewrite !mxE embedB. Qed.

(* A multiple of tau vanishes. *)
Lemma centred_multiple v u : centred tau (v + tau%:Z * u) = centred tau v.
Proof. by rewrite /centred embedD embedM (embed_L tau_gt1) mul0r addr0. Qed.

Lemma centred_small B v : (2 * B < tau)%N -> (absz v <= B)%N -> centred tau v = v.
Proof.
move=> tau_gt v_le; apply/(lift_embed tau_gt1)/(in_lift_range_bound tau_gt1 (B := B)); lia.
Qed.

(* Masks r0 + tau e, and cancellations W r0 + tau delta: the product is W q. *)
Lemma lattice_exact m n b B_q noise_bound error_bound (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b))
    (r0 : 'M['Z_L]_(n, b)) (e : 'M[int]_(n, b)) (delta : 'M[int]_(m, b)) :
  lattice_condition L tau noise_bound error_bound (static_bound B_q W) -> within B_q q ->
  at_most noise_bound (W *m e) -> at_most error_bound delta ->
  lattice_unmask tau (product W (mask q (r0 + embed L tau *: embed_mx L e)))
                 (embed_mx L W *m r0 + embed L tau *: embed_mx L delta) = W *m q.
Proof.
case=> L_ge tau_gt q_in e_in delta_in.
have product_in k c : (absz ((W *m q) k c) <= static_bound B_q W)%N := abs_product_bound W k c q_in.
have left : product W (mask q (r0 + embed L tau *: embed_mx L e))
      - (embed_mx L W *m r0 + embed L tau *: embed_mx L delta)
    = embed_mx L (W *m q + tau%:Z *: (W *m e - delta)).
  rewrite /product /mask embed_mxD embed_mxZ embed_mxB !embed_mxM !mulmxDr -scalemxAr scalerBr.
  by rewrite addrCA opprD addrACA subrr add0r -!addrA.
have entry (P D : 'M[int]_(m, b)) k c : (P + tau%:Z *: D) k c = P k c + tau%:Z * D k c.
  by rewrite !mxE.
rewrite /lattice_unmask /unmask left (proj2 (lift_embed_mx L_gt1 _)) => [|k c].
  apply/matrixP => k c; rewrite mxE entry centred_multiple.
  exact: centred_small tau_gt (product_in k c).
apply: (in_lift_range_bound L_gt1 L_ge); have := product_in k c.
have /forallP/(_ k)/forallP/(_ c) := e_in; have /forallP/(_ k)/forallP/(_ c) := delta_in.
rewrite entry (_ : (_ - delta) k c = (W *m e) k c - delta k c); last first.
  by rewrite mxE [(- delta) k c]mxE.
by move: ((W *m e) k c) ((W *m q) k c) (delta k c) (static_bound _ _) L_ge => a p d B; nia.
Qed.

(* The same for a column of one block. *)
Lemma lattice_block_exact N m n d B_q noise_bound error_bound (W : 'M[int]_(m, n))
    (T : 'M['rV['Z_L]_N]_(n, d)) (S : 'M[int]_(d, N)) (e : 'M[int]_(n, N))
    (delta : 'M[int]_(m, N)) (i : 'I_N) (q : 'cV[int]_n) :
  lattice_condition L tau noise_bound error_bound (static_bound B_q W) -> within B_q q ->
  at_most noise_bound (W *m e) -> at_most error_bound delta ->
  lattice_unmask tau (product W (mask q (col i (lattice_masks tau T S e))))
                 (col i (lattice_cancellations tau W T S delta)) = W *m q.
Proof.
move=> condition q_in e_in delta_in.
have -> : col i (lattice_masks tau T S e)
    = col i (ring_product T (embed_mx L S)) + embed L tau *: embed_mx L (col i e).
  by apply/colP => a; rewrite [LHS]mxE [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE.
have -> : col i (lattice_cancellations tau W T S delta)
    = embed_mx L W *m col i (ring_product T (embed_mx L S))
      + embed L tau *: embed_mx L (col i delta).
  rewrite -ring_column_constant.
  by apply/colP => a; rewrite [LHS]mxE [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE.
apply: (lattice_exact _ condition q_in); apply/forallP => k; apply/forallP => c.
  by rewrite -col_product mxE; have /forallP/(_ k)/forallP := e_in.
by rewrite mxE; have /forallP/(_ k)/forallP := delta_in.
Qed.
End Exact.
