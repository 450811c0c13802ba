(* What David's residual exposes: the part that Charlie keeps is orthogonal to it, row by row and
   column by column, and such matrices form a space of known, small dimension.
   Chapter: decomposition, the section on what David's part exposes. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Orthogonal.
Variables (F : fieldType) (m n : nat).
Implicit Types (R X : 'M[F]_(m, n)).

(* The columns of X are orthogonal to the columns of R, and the rows of X to the rows of R. *)
Definition orthogonal_to R X : Prop := R^T *m X = 0 /\ X *m R^T = 0.

(* The subspace of all such X. *)
Definition unknowns R : {vspace 'M[F]_(m, n)} :=
  (lker (linfun (mulmx R^T : 'M[F]_(m, n) -> 'M[F]_(n, n)))
     :&: lker (linfun (mulmxr R^T : 'M[F]_(m, n) -> 'M[F]_(m, m))))%VS.

Lemma unknownsP R X : X \in unknowns R <-> orthogonal_to R X.
Proof.
rewrite memv_cap !memv_ker !lfunE /=.
by split=> [/andP[/eqP ? /eqP ?]|[-> ->]] //; rewrite !eqxx.
Qed.

(* Bases of the orthogonal complements of the column space and of the row space of R. *)
Definition U_perp R : 'M[F]_(m, \rank (kermx R)) := (row_base (kermx R))^T.
Definition V_perp R : 'M[F]_(\rank (kermx R^T), n) := row_base (kermx R^T).

Lemma rank_U_perp R : \rank (kermx R) = (m - \rank R)%N.
Proof. exact: mxrank_ker. Qed.
Lemma rank_V_perp R : \rank (kermx R^T) = (n - \rank R)%N.
Proof. by rewrite mxrank_ker mxrank_tr. Qed.

Lemma V_perp_free R : row_free (V_perp R).
Proof. exact: row_base_free. Qed.
Lemma U_perp_free R : row_free (U_perp R)^T.
Proof. by rewrite trmxK row_base_free. Qed.

Lemma V_perp_orthogonal R : V_perp R *m R^T = 0.
Proof. by apply/eqP; rewrite -sub_kermx eq_row_base. Qed.
Lemma U_perp_orthogonal R : R^T *m U_perp R = 0.
Proof.
by apply: trmx_inj; rewrite trmx_mul !trmxK trmx0; apply/eqP; rewrite -sub_kermx eq_row_base.
Qed.

Lemma core_injective R M M' :
  U_perp R *m M *m V_perp R = U_perp R *m M' *m V_perp R -> M = M'.
Proof.
move/(row_free_inj (V_perp_free R)) => /(congr1 trmx); rewrite !trmx_mul.
by move/(row_free_inj (U_perp_free R))/trmx_inj.
Qed.

(* X = U_perp M V_perp, for exactly one core M. *)
Lemma unknowns_core R X :
  orthogonal_to R X <-> exists! M, X = U_perp R *m M *m V_perp R.
Proof.
split=> [[RX XR]|[M [-> _]]]; last first.
  split; first by rewrite !mulmxA U_perp_orthogonal !mul0mx.
  by rewrite -mulmxA V_perp_orthogonal mulmx0.
have /submxP[Y defX] : (X <= V_perp R)%MS by rewrite eq_row_base sub_kermx XR.
have RY : R^T *m Y = 0.
  by apply: (row_free_inj (V_perp_free R)); rewrite -mulmxA -defX RX mul0mx.
have /submxP[Z defY] : (Y^T <= (U_perp R)^T)%MS.
  rewrite trmxK eq_row_base sub_kermx; apply/eqP/trmx_inj.
  by rewrite trmx_mul trmxK RY trmx0.
have defX' : X = U_perp R *m Z^T *m V_perp R.
  by rewrite defX; congr (_ *m _); apply: trmx_inj; rewrite trmx_mul trmxK.
by exists Z^T; split=> // M; rewrite {1}defX' => /core_injective.
Qed.

Lemma dim_unknowns R : \dim (unknowns R) = ((m - \rank R) * (n - \rank R))%N.
Proof.
pose f := linfun (mulmx (U_perp R) \o mulmxr (V_perp R)).
have fE M : f M = U_perp R *m M *m V_perp R by rewrite lfunE /= mulmxA.
have ker_f : lker f == 0%VS.
  by apply/lker0P => M M'; rewrite !fE; apply: core_injective.
have -> : unknowns R = limg f.
  apply/vspaceP=> X; apply/idP/memv_imgP.
    by move/unknownsP/unknowns_core => [M [-> _]]; exists M; rewrite ?memvf ?fE.
  case=> M _ ->; apply/unknownsP/unknowns_core; exists M; rewrite fE; split=> // M'.
  exact: core_injective.
by rewrite limg_dim_eq ?(eqP ker_f) ?capv0 // dimvf /Vector.dim /= rank_U_perp rank_V_perp.
Qed.

(* k (|m - n| + k) when R has rank min(m, n) - k. *)
Lemma count_unknowns R k : (k <= minn m n)%N -> \rank R = (minn m n - k)%N ->
  \dim (unknowns R) = (k * ((maxn m n - minn m n) + k))%N.
Proof.
move=> k_le rank_R; rewrite dim_unknowns rank_R; move: k_le.
case: (leqP m n) => [le_mn|/ltnW le_nm]; rewrite /minn /maxn.
  by case: ltnP => h k_le; rewrite (_ : m - _ = k)%N; try lia; congr (_ * _)%N; lia.
by case: ltnP => h k_le; rewrite [LHS]mulnC (_ : n - _ = k)%N; try lia; congr (_ * _)%N; lia.
Qed.

End Orthogonal.

(* Splitting W = U S V^T at the singular values gives parts that are orthogonal in this sense. *)
Lemma svd_orthogonal (F : fieldType) m n r (U : 'M[F]_(m, r)) (V : 'M[F]_(n, r))
    (kept rest : 'rV[F]_r) :
  U^T *m U = 1%:M -> V^T *m V = 1%:M -> (forall i, kept 0 i * rest 0 i = 0) ->
  orthogonal_to (U *m diag_mx rest *m V^T) (U *m diag_mx kept *m V^T).
Proof.
move=> UU VV disjoint; have dd (a b : 'rV[F]_r) : (forall i, a 0 i * b 0 i = 0) ->
    diag_mx a *m diag_mx b = 0.
  move=> ab; apply/matrixP=> i j; rewrite mul_diag_mx !mxE.
  by case: eqP => [->|_]; rewrite ?mulr0n ?mulr0 // mulr1n -[RHS](ab j).
split; rewrite !trmx_mul !trmxK tr_diag_mx !mulmxA.
  rewrite -(mulmxA _ U^T U) UU mulmx1 -(mulmxA V) (dd rest kept) ?mulmx0 ?mul0mx // => i.
  by rewrite mulrC.
by rewrite -(mulmxA _ V^T V) VV mulmx1 -(mulmxA U) (dd kept rest) ?mulmx0 ?mul0mx.
Qed.
